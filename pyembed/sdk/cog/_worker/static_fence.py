"""What a model may do to the machine while its source is read, and while it is imported for that.

Both are audit hooks, which nothing takes away again: what they see depends on whether they are
open. They are no sandbox against whoever wants to get out, but hold what a model does on its own.
"""

from __future__ import annotations

import os
import stat
import sys

from .static_unknown import Refusal

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

PATIENCE = 10  # seconds that reading a source may take
_MEMORY = 4 << 30  # bytes of addresses that it may have
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


class Fence:
    """Keeps what is read from reaching out of the process, and from going on for ever."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self.closed = False
        self.spared = 0  # alarms in a row that ended nothing
        self.memory = -1

    def __enter__(self) -> None:
        import signal

        signal.signal(signal.SIGALRM, self._late)
        # More than once: what it ends is one statement, and the next may be as slow.
        signal.setitimer(signal.ITIMER_REAL, self.seconds, 1)
        sys.dont_write_bytecode = True
        self.memory = _limit_memory(_MEMORY)
        sys.addaudithook(self._audit)
        self.closed = True

    def __exit__(self, *exc: object) -> None:
        import signal

        self.closed = False
        sys.dont_write_bytecode = False
        _limit_memory(self.memory)
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
            outside = bool(flags & (os.O_WRONLY | os.O_RDWR | os.O_CREAT)) or _is_device(args[0])
        else:
            outside = event.startswith(tuple(_OUTSIDE))
        if outside:
            raise Refusal("what reaches out of the process is not run when the source is only read")


def _is_device(path: Any) -> bool:
    """Tell whether a file may have no end, or keep who reads it waiting."""
    try:
        mode = os.stat(path).st_mode
    except (OSError, TypeError, ValueError):
        return False
    return not (stat.S_ISREG(mode) or stat.S_ISDIR(mode))


def _limit_memory(most: int) -> int:
    """Set the soft limit of this process's addresses, and return what it was."""
    import resource

    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    if hard != resource.RLIM_INFINITY and (most > hard or most == resource.RLIM_INFINITY):
        most = hard
    resource.setrlimit(resource.RLIMIT_AS, (most, hard))
    return soft


class ImportGuard:
    """Stops the commands that the model's own files run while they are imported, and the network.

    The files are searched for commands before (`static_commands`); this is for what only running
    shows. A library may run commands, as many ask for the system at their import, but install
    nothing.
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
            if type(args[1]) is tuple:  # not of a file
                raise PermissionError("a model is looked at without the network, unless --execute")
        elif event in _RUNNING:
            file, line = self._caller()
            if file or _installs(args):
                what = f"{event}(…) runs a command when the file is imported"
                self.stopped.append((file, line, what))
                raise Refusal(what, "", file, line)

    def _caller(self) -> tuple[str, int]:
        """Return the line of the model's own that is about to run a command, or ""."""
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
    """Tell whether a command installs or downloads, as far as its first words say so."""
    words: list[str] = []
    for arg in args[:2]:
        if isinstance(arg, (str, bytes)):
            words += os.fsdecode(arg).split()
        elif isinstance(arg, (list, tuple)):
            words += [os.fsdecode(w) for w in arg if isinstance(w, (str, bytes, os.PathLike))]
    return any(os.path.basename(word) in _INSTALLERS for word in words[:5])
