"""Limits on reading a model's source, and on what an import of the model may do.

A source is read in a child process, so that a computation of the model has an end. An import of the
model has an audit hook, which hostile code can escape.
"""

from __future__ import annotations

import json
import os
import resource
import signal
import sys
import warnings

from .plain import Refusal

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

_CPU_SECONDS = 20  # of CPU time, after which the kernel ends a reading
_LIMITS = (
    (resource.RLIMIT_AS, 4 << 30),
    (resource.RLIMIT_CPU, _CPU_SECONDS),
    (resource.RLIMIT_CORE, 0),
)


def run_sandboxed(work: Callable[[], Any]) -> Any:
    """Return what a function returns in a child process with limits, which passes it on as JSON.

    Raises Refusal if the child ends without it.
    """
    read_end, write_end = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            _answer(work, write_end)
        finally:
            os._exit(0)
    os.close(write_end)
    with open(read_end, "rb") as answers:
        text = answers.read()
    _, status = os.waitpid(child, 0)
    try:
        answer = json.loads(text)
    except ValueError:
        died = os.WIFSIGNALED(status)
        why = signal.Signals(os.WTERMSIG(status)).name if died else "the model's code"
        limit = f"its limit is {_CPU_SECONDS} s of CPU time"
        answer = {"refusal": f"{why} ended the reading; {limit}"}
    if "refusal" in answer:
        raise Refusal(answer["refusal"])
    return answer["value"]


def _answer(work: Callable[[], Any], to: int) -> None:
    warnings.simplefilter("ignore")  # of the model's syntax
    sys.dont_write_bytecode = True
    for limit, most in _LIMITS:
        hard = resource.getrlimit(limit)[1]
        most = most if hard == resource.RLIM_INFINITY else min(most, hard)
        resource.setrlimit(limit, (most, most))
    with open(to, "w", encoding="utf-8", errors="backslashreplace") as out:
        try:
            text = json.dumps({"value": work()}, ensure_ascii=False)
        except BaseException as error:
            why = str(error) if isinstance(error, Refusal) else f"{type(error).__name__}: {error}"
            text = json.dumps({"refusal": why})
        out.write(text)


class ImportGuard:
    """Stops the network, and commands of the model's own files, while they are imported.

    A library may run commands, as many query the system, but may not install.
    """

    def __init__(self, root: str, allowed: bool) -> None:
        self.root = root
        self.allowed = allowed
        self.open = True
        self.stopped: list[dict[str, Any]] = []  # commands: file, line, what

    def __enter__(self) -> ImportGuard:
        if not self.allowed:
            sys.addaudithook(self._audit)
            self.open = False
        return self

    def __exit__(self, *exc: object) -> None:
        self.open = True

    def _audit(self, event: str, args: tuple[Any, ...]) -> None:
        if self.open:
            return
        if event == "socket.connect":
            if type(args[1]) is tuple:  # else it is a file
                raise PermissionError(
                    "the network is blocked while a model is inspected, unless --execute is given"
                )
        elif event in _RUNNING:
            file, line = self._caller()
            if file or _installs(args):
                what = f"{event}(…) runs a command when the file is imported"
                self.stopped.append({"file": file, "line": line, "what": what})
                raise Refusal(what, "", file, line)

    def _caller(self) -> tuple[str, int]:
        """Return the place in the model that runs a command, ("", 0) if there is none."""
        frame: Any = sys._getframe(2)
        while frame is not None and _is_of_python(frame.f_code.co_filename):
            frame = frame.f_back
        if frame is None:
            return "", 0
        file = os.path.relpath(frame.f_code.co_filename, self.root)
        outside = file.startswith(os.pardir) or "site-packages" in file
        return ("", 0) if outside else (file, frame.f_lineno)


_RUNNING = ("os.system", "os.exec", "os.posix_spawn", "os.spawn", "pty.spawn", "subprocess.Popen")
_INSTALLERS = {"pip", "pip3", "uv", "conda", "mamba", "apt", "apt-get", "curl", "wget", "git"}


def _is_of_python(file: str) -> bool:
    library = os.path.dirname(os.__file__) + os.sep
    return file.startswith(("<frozen", library)) and "site-packages" not in file


def _installs(args: tuple[Any, ...]) -> bool:
    """Return whether the first words of a command name an installer or a download."""
    words: list[str] = []
    for arg in args[:2]:
        if isinstance(arg, (str, bytes)):
            words += os.fsdecode(arg).split()
        elif isinstance(arg, (list, tuple)):
            words += [os.fsdecode(w) for w in arg if isinstance(w, (str, bytes, os.PathLike))]
    return any(os.path.basename(word) in _INSTALLERS for word in words[:5])
