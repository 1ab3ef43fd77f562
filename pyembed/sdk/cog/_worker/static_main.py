"""The program that the command runs to learn a model's document or its mistakes.

Its one argument is JSON: {"root", "ref", "train", "how", "execute"?, "concurrency"?,
"none_defaults"?}, where ref and train are references or "", none_defaults is as the flag of the
server, and how is one of

    auto     from the source alone; what it does not tell is imported
    static   from the source alone
    import   imported
    check    imported, and all mistakes in it

A model whose files run commands or download when they are imported is imported only with execute.

It answers with JSON on stdout, whatever the model prints there: {"document"?, "how", "problems",
"warnings", "refusals", "commands"}. A problem is {"file", "line", "what", "mend", "traceback"}, and
so is a warning, about what is served all the same; a refusal is a line that says why the source
alone does not tell; a command is a problem too, one for which the model was not imported.
"""

from __future__ import annotations

import json
import os
import sys

from .errors import traceback_text
from .load import LoadError, Predictor, load_predictor
from .notices import notices, settle_none_defaults
from .schema import openapi
from .static import Refusal, read_predictor, static_problems
from .static_fence import PATIENCE, Fence, ImportGuard

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    Problem = dict[str, Any]


def main() -> None:
    """Answer the request in argv."""
    answer = os.fdopen(os.dup(1), "w", encoding="utf-8", errors="backslashreplace")
    os.dup2(2, 1)
    request = json.loads(sys.argv[1])
    process = os.getpid()
    _prepare(request)
    told = _answer(request)
    if os.getpid() != process:
        os._exit(0)  # the model's module forked, and the child came back
    with answer:
        json.dump(told, answer, ensure_ascii=False)
        answer.flush()
        # Threads and exit handlers of the model have no say in when this ends.
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(0)


def _prepare(request: dict[str, Any]) -> None:
    """Make the process look to the model as a worker does."""
    if "" in sys.path:
        sys.path.remove("")
    sys.argv = [(request["ref"] or request["train"]).partition(":")[0]]
    here = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    rest = os.environ.get("PYTHONPATH")
    os.environ["PYTHONPATH"] = here + os.pathsep + rest if rest else here


def _answer(request: dict[str, Any]) -> dict[str, Any]:
    how, root, execute = request["how"], request["root"], bool(request.get("execute"))
    asked = [(m, request[k]) for m, k in (("predict", "ref"), ("train", "train")) if request.get(k)]
    answer: dict[str, Any] = {
        "how": "static",
        "problems": [],
        "warnings": [],
        "refusals": [],
        "commands": [],
    }
    if how == "check" and not execute:
        answer["commands"] = _commands(asked, root)
    if how in ("auto", "static") or answer["commands"]:
        _read(answer, asked, request)
        if "document" in answer or answer["problems"] or how != "auto":
            return answer
        if not execute:
            answer["commands"] = _commands(asked, root)
            if answer["commands"]:
                return answer
        print(f"{answer['refusals'][0]}; so the model is imported", file=sys.stderr)
    _import(answer, asked, request)
    return answer


def _commands(asked: list[tuple[str, str]], root: str) -> list[Problem]:
    """Return what the model's files do to the machine when they are imported."""
    from .static_commands import find_commands

    found = {}
    for mode, ref in asked:
        for command in find_commands(ref, root, mode):
            found[command.file, command.line] = _command(command.file, command.line, str(command))
    return list(found.values())


def _command(file: str, line: int, what: str) -> Problem:
    return {"file": file, "line": line, "what": what}


def _read(answer: dict[str, Any], asked: list[tuple[str, str]], request: dict[str, Any]) -> None:
    """Read the source, and nothing but that."""
    every, root = request["how"] == "check", request["root"]
    loaded = {}
    with Fence(PATIENCE):
        for mode, ref in asked:
            try:
                loaded[mode] = read_predictor(ref, root, mode)
            except Refusal as refusal:
                answer["refusals"].append(str(refusal))
            except LoadError as error:
                more = static_problems(ref, root, mode) if every else []
                answer["problems"] += more or [_told(str(error))]
    if not answer["refusals"] and not answer["problems"]:
        _describe(answer, loaded, request)


def _describe(
    answer: dict[str, Any], loaded: dict[str, Predictor], request: dict[str, Any]
) -> None:
    """Add the document of what was loaded, and the warnings of its declarations."""
    for predictor in loaded.values():
        settle_none_defaults(predictor, request.get("none_defaults") or "")
        answer["warnings"] += [_told(line) for line in notices(predictor, request["root"])]
    answer["document"] = openapi(loaded.get("predict"), loaded.get("train"))


def _import(answer: dict[str, Any], asked: list[tuple[str, str]], request: dict[str, Any]) -> None:
    """Import the model, unless it turns out to run commands then."""
    every, root = request["how"] == "check", request["root"]
    answer["how"] = "import"
    loaded = {}
    with ImportGuard(root, bool(request.get("execute"))) as guard:
        for mode, ref in asked:
            predictor, problems = _load(ref, root, mode, every)
            answer["problems"] += problems
            if predictor is not None:
                loaded[mode] = predictor
    if guard.stopped:
        answer["commands"] = [_command(*stopped) for stopped in guard.stopped]
        answer["problems"] = []
        return
    if every:
        answer["problems"] += _too_many(loaded.get("predict"), request.get("concurrency") or 0)
    if not answer["problems"]:
        _describe(answer, loaded, request)


def _load(ref: str, root: str, mode: str, every: bool) -> tuple[Predictor | None, list[Problem]]:
    from .static_problems import every_problem, mistake

    if root not in sys.path:
        sys.path.insert(1, root)
    try:
        return load_predictor(ref, root, mode), []
    except LoadError as error:
        more = every_problem(ref, root, mode) if every else []
        return None, more or [_told(str(error))]
    except BaseException as error:
        problem = mistake(error, root)
        problem["traceback"] = traceback_text(error)
        return None, [problem]


def _told(text: str) -> Problem:
    from .static_problems import told

    return told(text)


def _too_many(predictor: Predictor | None, wanted: int) -> list[Problem]:
    """Return the mistake of a concurrency that the function is not made for."""
    if predictor is None or predictor.is_async or wanted <= 1:
        return []
    signature = predictor.signature
    return [
        {
            "file": signature.file,
            "line": signature.line,
            "what": f"a concurrency of {wanted} needs an async function, "
            f"and {signature.name} is not",
            "mend": "write `async def`, or remove concurrency.max from cog.yaml",
        }
    ]
