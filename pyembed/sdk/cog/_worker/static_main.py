"""The program that the command runs to learn a model's document or its mistakes.

Its one argument is JSON: {"root", "ref", "train", "how", "concurrency"?}, where ref and train are
references or "", and how is one of

    auto     from the source alone; what it does not tell is imported
    static   from the source alone
    import   imported
    check    imported, and all mistakes in it

It answers with JSON on stdout, whatever the model prints there: {"document"?, "how", "problems",
"refusals"}. A problem is {"file", "line", "what", "mend", "traceback"}; a refusal is a line that
says why the source alone does not tell.
"""

from __future__ import annotations

import json
import os
import sys

from .errors import traceback_text
from .load import LoadError, Predictor, load_predictor
from .schema import openapi
from .static import Refusal, read_predictor

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    Problem = dict[str, Any]

_PATIENCE = 10  # seconds that reading a source may take
_SPARED = 20  # alarms while a statement is given up; more are of a `finally` that does not end
# What the audit hook stops while a source is read. Opening a file is judged by its flags.
_OUTSIDE = [
    "ctypes.dlopen",
    "fcntl.",
    "ftplib.",
    "http.",
    "imaplib.",
    "msvcrt.",
    "nntplib.",
    "os.chmod",
    "os.chown",
    "os.exec",
    "os.fork",
    "os.forkpty",
    "os.kill",
    "os.killpg",
    "os.link",
    "os.lockf",
    "os.mkdir",
    "os.posix_spawn",
    "os.putenv",
    "os.remove",
    "os.rename",
    "os.rmdir",
    "os.setxattr",
    "os.spawn",
    "os.symlink",
    "os.system",
    "os.truncate",
    "os.utime",
    "poplib.",
    "pty.",
    "shutil.",
    "signal.",
    "smtplib.",
    "socket.",
    "sqlite3.",
    "subprocess.",
    "syslog.",
    "telnetlib.",
    "tempfile.",
    "urllib.",
]


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
    how, root = request["how"], request["root"]
    asked = [(m, request[k]) for m, k in (("predict", "ref"), ("train", "train")) if request.get(k)]
    answer: dict[str, Any] = {"how": "static", "problems": [], "refusals": []}
    if how in ("auto", "static"):
        loaded, told = {}, []
        with _Fence(_PATIENCE):
            for mode, ref in asked:
                try:
                    loaded[mode] = read_predictor(ref, root, mode)
                except Refusal as refusal:
                    answer["refusals"].append(str(refusal))
                except LoadError as error:
                    told.append(_told(error))
        if not answer["refusals"] and not told:
            answer["document"] = openapi(loaded.get("predict"), loaded.get("train"))
            return answer
        if how == "static" or told:
            answer["problems"] = told
            return answer
    answer["how"] = "import"
    loaded = {}
    for mode, ref in asked:
        predictor, problems = _load(ref, root, mode, how == "check")
        answer["problems"] += problems
        if predictor is not None:
            loaded[mode] = predictor
    if how == "check":
        answer["problems"] += _too_many(loaded.get("predict"), request.get("concurrency") or 0)
    if not answer["problems"]:
        answer["document"] = openapi(loaded.get("predict"), loaded.get("train"))
    return answer


def _load(ref: str, root: str, mode: str, every: bool) -> tuple[Predictor | None, list[Problem]]:
    from .static_problems import every_problem, mistake

    if root not in sys.path:
        sys.path.insert(1, root)
    try:
        return load_predictor(ref, root, mode), []
    except LoadError as error:
        more = every_problem(ref, root, mode) if every else []
        return None, more or [_told(error)]
    except BaseException as error:
        problem = mistake(error, root)
        problem["traceback"] = traceback_text(error)
        return None, [problem]


def _told(error: LoadError) -> Problem:
    from .static_problems import told

    return told(str(error))


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


class _Fence:
    """Keeps what is read from reaching out of the process, and from going on for ever."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self.closed = False
        self.spared = 0  # alarms in a row that ended nothing

    def __enter__(self) -> None:
        import signal

        signal.signal(signal.SIGALRM, self._late)
        # More than once: what it ends is one statement, and the next may be as slow.
        signal.setitimer(signal.ITIMER_REAL, self.seconds, 1)
        sys.dont_write_bytecode = True
        sys.addaudithook(self._audit)
        self.closed = True

    def __exit__(self, *exc: object) -> None:
        import signal

        self.closed = False
        sys.dont_write_bytecode = False
        signal.setitimer(signal.ITIMER_REAL, 0)

    def _late(self, *_: object) -> None:
        if isinstance(sys.exc_info()[1], Refusal) and self.spared < _SPARED:
            # A statement is being given up, for which a busy machine may take its time. What is
            # raised meanwhile would be nobody's.
            import signal

            self.spared += 1
            signal.setitimer(signal.ITIMER_REAL, 0.05, 1)
            return
        self.spared = 0
        raise Refusal(f"it takes more than {self.seconds} s")

    def _audit(self, event: str, args: tuple[Any, ...]) -> None:
        if not self.closed:
            return
        if event == "open":
            flags = args[2] if isinstance(args[2], int) else 0
            outside = bool(flags & (os.O_WRONLY | os.O_RDWR | os.O_CREAT))
        else:
            outside = event.startswith(tuple(_OUTSIDE))
        if outside:
            raise Refusal("what reaches out of the process is not run when the source is only read")
