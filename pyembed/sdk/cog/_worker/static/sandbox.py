"""Limits on a model while its source is read, and while it is imported for its document.

A source is read in a child process. There an audit hook refuses calls with effects outside of the
process, with a message. For code that gets past the hook, the kernel refuses them too (`seccomp`).
An import of the model has only an audit hook, which hostile code can escape.
"""

from __future__ import annotations

import _posixsubprocess  # noqa: F401, so that its function can be replaced
import contextlib
import json
import os
import resource
import signal
import stat
import sys
from os import _exit  # which the child replaces in os

from .seccomp import filter_calls
from .unknown import Refusal

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

READ_SECONDS = 10  # seconds that reading a source may take
_CPU_SECONDS = 20  # of CPU time, after which the kernel ends a reading that an alarm cannot end
_LIMITS = (
    (resource.RLIMIT_AS, 4 << 30),
    (resource.RLIMIT_CPU, _CPU_SECONDS),
    (resource.RLIMIT_CORE, 0),
)
_LATE_ALARMS = 20  # ignored while a statement ends; more mean that a `finally` does not end
# Events that the audit hook refuses while a source is read. For files it checks the flags.
_OUTSIDE = (
    "_thread.start",
    "ctypes.",
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
    "os.removexattr",
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
    "resource.",
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
)
# Functions that reach out of the process and raise no audit event, by module.
_OF_OS = [
    "_exit",
    "abort",
    "chroot",
    "copy_file_range",
    "mkfifo",
    "mknod",
    "pwrite",
    "pwritev",
    "sched_setaffinity",
    "sched_setparam",
    "sched_setscheduler",
    "sendfile",
    "setpgid",
    "setpgrp",
    "setpriority",
    "setsid",
    "splice",
    "tcsetpgrp",
    "write",
    "writev",
]
_UNAUDITED = {
    "os": _OF_OS,
    "posix": _OF_OS,
    "_posixsubprocess": ["fork_exec"],
    "subprocess": ["_fork_exec"],
    "_signal": ["pidfd_send_signal"],
    "signal": ["pidfd_send_signal"],
    "time": ["clock_settime", "clock_settime_ns"],
}
_WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC


class TimeLimit:
    """Ends statements that take too long with a Refusal, in the process's main thread."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self.late_alarms = 0  # ignored alarms in a row

    def __enter__(self) -> TimeLimit:
        signal.signal(signal.SIGALRM, self._on_alarm)
        # Repeated, because an alarm ends one statement and the next may be slow too.
        signal.setitimer(signal.ITIMER_REAL, self.seconds, 1)
        return self

    def __exit__(self, *exc: object) -> None:
        signal.setitimer(signal.ITIMER_REAL, 0)

    def _on_alarm(self, *_: object) -> None:
        if isinstance(sys.exc_info()[1], Refusal) and self.late_alarms < _LATE_ALARMS:
            # The Refusal of the last alarm still propagates, which takes time on a busy machine.
            self.late_alarms += 1
            signal.setitimer(signal.ITIMER_REAL, 0.05, 1)
            return
        self.late_alarms = 0
        raise Refusal(f"it takes more than {self.seconds} s")


def run_sandboxed(work: Callable[[], Any]) -> Any:
    """Return what a function returns in a child process, which passes only that on, as JSON.

    Raises Refusal if the child ends without it. The child never leaves the sandbox: objects of the
    model may run code as long as it lives, such as `__del__`.
    """
    read_end, write_end = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            _answer(work, write_end)
        finally:
            _exit(0)
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
    null = os.open(os.devnull, os.O_RDWR)
    for fd in map(int, os.listdir("/proc/self/fd")):
        if fd <= 2:
            os.dup2(null, fd)  # what the model prints is not the command's output
        elif fd != to:
            with contextlib.suppress(OSError):  # listdir has closed its own
                os.close(fd)
    with open(to, "w", encoding="utf-8", errors="backslashreplace") as out:
        try:
            with TimeLimit(READ_SECONDS):
                _enter_sandbox()
                text = json.dumps({"value": work()}, ensure_ascii=False)
        except BaseException as error:
            why = str(error) if isinstance(error, Refusal) else f"{type(error).__name__}: {error}"
            text = json.dumps({"refusal": why})
        out.write(text)


def _enter_sandbox() -> None:
    """Confine the effects of this process to itself from now on."""
    sys.dont_write_bytecode = True
    for limit, most in _LIMITS:
        hard = resource.getrlimit(limit)[1]
        most = most if hard == resource.RLIM_INFINITY else min(most, hard)
        resource.setrlimit(limit, (most, most))
    filter_calls()
    for module, names in _UNAUDITED.items():
        for name in names:
            if hasattr(sys.modules.get(module), name):
                setattr(sys.modules[module], name, _refuse_outside)
    sys.addaudithook(_audit)


def _audit(event: str, args: tuple[Any, ...]) -> None:
    if event == "open":
        flags = args[2] if isinstance(args[2], int) else 0
        outside = bool(flags & _WRITING) or _is_device(args[0])
    else:
        outside = event.startswith(_OUTSIDE)
    if outside:
        _refuse_outside()


def _refuse_outside(*_: object, **__: object) -> None:
    raise Refusal("calls that reach outside the process are not run when the source is only read")


def _is_device(path: Any) -> bool:
    """Return whether a file may have no end, or block its reader."""
    try:
        mode = os.stat(path).st_mode
    except (OSError, TypeError, ValueError):
        return False
    return not (stat.S_ISREG(mode) or stat.S_ISDIR(mode))


class ImportGuard:
    """Stops the network, and commands of the model's own files, while they are imported.

    `commands` finds most commands before the import; this finds the others. A library may run
    commands, as many query the system, but may not install.
    """

    def __init__(self, root: str, allowed: bool) -> None:
        self.root = root
        self.allowed = allowed
        self.open = True
        self.stopped: list[tuple[str, int, str]] = []  # commands: file, line, what

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
                self.stopped.append((file, line, what))
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
