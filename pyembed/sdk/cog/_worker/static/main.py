"""The program that `pinion schema` and `pinion check` run to get a model's document or mistakes.

Its argument is JSON: {"root", "ref", "train", "how", "execute"?, "concurrency"?, "none_defaults"?}.
ref and train are references or "", none_defaults is the server's flag, and how is one of

    auto     read the source; import the model if that is not enough
    static   read the source
    import   import the model
    check    import the model and report all mistakes

An import that would run a command is stopped there, unless execute is given.

The answer is JSON on stdout: {"document"?, "how", "problems", "warnings", "refusals", "commands"}.
Output of the model goes to stderr. A problem is {"file", "line", "what", "fix", "traceback"}. A
warning is a problem that does not stop the model from being served. A command is a problem that
stopped the import. A refusal is a line that says why the source is not enough.
"""

from __future__ import annotations

import copy
import json
import os
import sys

from ..model.load import LoadError, Predictor, functions_of, load_predictor
from ..model.notices import apply_none_defaults, notices
from ..model.problems import every_problem, failure, problem_of
from ..model.slots import slots_problem
from ..schema.document import openapi
from .reader import Refusal, read_predictor, static_problems
from .sandbox import ImportGuard, run_sandboxed

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
    result = _answer(request)
    if os.getpid() != process:
        os._exit(0)  # the model's module forked, and this is the child
    with answer:
        json.dump(result, answer, ensure_ascii=False)
        answer.flush()
        # End without the model's threads and exit handlers.
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(0)


def _prepare(request: dict[str, Any]) -> None:
    """Set up the process like a worker."""
    if "" in sys.path:
        sys.path.remove("")
    sys.argv = [(request["ref"] or request["train"]).partition(":")[0]]
    here = os.path.abspath(os.path.join(__file__, "../../../.."))
    before = os.environ.get("PYTHONPATH")
    os.environ["PYTHONPATH"] = here + os.pathsep + before if before else here


def _answer(request: dict[str, Any]) -> dict[str, Any]:
    how, execute = request["how"], request.get("execute")
    asked = [(m, request[k]) for m, k in (("predict", "ref"), ("train", "train")) if request.get(k)]
    answer: dict[str, Any] = {"how": "static"}
    answer.update({name: [] for name in ("problems", "warnings", "refusals", "commands")})
    if how in ("auto", "static"):
        answer = _read(answer, asked, request)
        if "document" in answer or answer["problems"] or how == "static":
            return answer
        print(f"{answer['refusals'][0]}; so the model is imported", file=sys.stderr)
    read = {} if execute or how != "check" else _read(copy.deepcopy(answer), asked, request)
    _import(answer, asked, request)
    return {**read, "commands": answer["commands"]} if read and answer["commands"] else answer


def _read(
    answer: dict[str, Any], asked: list[tuple[str, str]], request: dict[str, Any]
) -> dict[str, Any]:
    """Return the answer with what the source says without an import."""
    every, root = request["how"] == "check", request["root"]

    def read() -> dict[str, Any]:
        loaded = {}
        for mode, ref in asked:
            try:
                loaded[mode] = read_predictor(ref, root, mode)
            except Refusal as refusal:
                answer["refusals"].append(str(refusal))
            except LoadError as error:
                more = static_problems(ref, root, mode) if every else []
                answer["problems"] += more or [problem_of(str(error))]
        if not answer["refusals"] and not answer["problems"]:
            try:
                _describe(answer, loaded, request)
            except Refusal as refusal:  # of the model's code that this runs
                answer["refusals"].append(str(refusal))
        return answer

    try:
        result: dict[str, Any] = run_sandboxed(read)
    except Refusal as refusal:
        answer["refusals"].append(str(refusal))
        return answer
    return result


def _describe(
    answer: dict[str, Any], loaded: dict[str, Predictor], request: dict[str, Any]
) -> None:
    """Add the document of the loaded model, and its warnings."""
    lines = []
    functions = functions_of(loaded.get("predict"), loaded.get("train"))
    for predictor in functions:
        if predictor is not None:
            apply_none_defaults(predictor, request.get("none_defaults") or "")
            lines += notices(predictor, request["root"])
    answer["document"] = openapi(*functions)
    answer["warnings"] += [problem_of(line) for line in lines]


def _import(answer: dict[str, Any], asked: list[tuple[str, str]], request: dict[str, Any]) -> None:
    """Import the model, unless the import runs commands."""
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
        answer["commands"] = guard.stopped
        answer["problems"] = []
        return
    if every:
        answer["problems"] += _too_many(loaded.get("predict"), request.get("concurrency") or 0)
    if not answer["problems"]:
        try:
            _describe(answer, loaded, request)
        except BaseException as error:  # of the model's code in what it declares
            answer["problems"].append(failure(error, root))


def _load(ref: str, root: str, mode: str, every: bool) -> tuple[Predictor | None, list[Problem]]:
    if root not in sys.path:
        sys.path.insert(1, root)
    try:
        return load_predictor(ref, root, mode), []
    except LoadError as error:
        more = every_problem(ref, root, mode) if every else []
        return None, more or [problem_of(str(error))]
    except BaseException as error:
        return None, [failure(error, root)]


def _too_many(predictor: Predictor | None, wanted: int) -> list[Problem]:
    """Return the mistake of a concurrency that the function cannot have."""
    if predictor is None:
        return []
    problem = slots_problem(predictor, wanted or predictor.concurrency)
    if problem is None:
        return []
    signature = predictor.signature
    what, fix = problem
    return [{"file": signature.file, "line": signature.line, "what": what, "fix": fix}]
