"""Limits on a model while its source is read, and while it is imported for its document.

Both are audit hooks, which cannot be removed, so each has a switch. They stop accidental effects
outside of the process. They are no sandbox for code that tries to get out.
"""

from __future__ import annotations

import os
import stat
import sys

from .unknown import Refusal

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

READ_SECONDS = 10  # seconds that reading a source may take
_MEMORY = 4 << 30  # bytes of addresses that it may have
_LATE_ALARMS = 20  # ignored while a statement ends; more mean that a `finally` does not end
# Events that the audit hook refuses while a source is read. For files it checks the flags.
_OUTSIDE = [
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
]
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


class Fence:
    """Stops effects outside of the process, and statements that take too long.

    The time ends with the block. The fence stays closed after it, for the model's objects may still
    run code, such as `__del__`; only an import of the model opens it.
    """

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self.closed = False
        self.late_alarms = 0  # ignored alarms in a row
        self.memory = -1
        self.replaced: list[tuple[Any, str, Any]] = []  # module, name, what it was

    def __enter__(self) -> Fence:
        import _posixsubprocess  # noqa: F401, so that its function can be replaced
        import signal

        signal.signal(signal.SIGALRM, self._late)
        # Repeated, because an alarm ends one statement and the next may be slow too.
        signal.setitimer(signal.ITIMER_REAL, self.seconds, 1)
        sys.dont_write_bytecode = True
        self.memory = _limit_memory(_MEMORY)
        sys.addaudithook(self._audit)
        self.closed = True
        for module, names in _UNAUDITED.items():
            for name in names:
                self._replace(sys.modules.get(module), name, _refuse_outside)
        # A Refusal in a `__del__` is no news for the user.
        self._replace(sys, "unraisablehook", _ignore)
        return self

    def __exit__(self, *exc: object) -> None:
        import signal

        signal.setitimer(signal.ITIMER_REAL, 0)

    def open(self) -> None:
        """Allow everything again."""
        self.closed = False
        for replaced in self.replaced:
            setattr(*replaced)
        sys.dont_write_bytecode = False
        _limit_memory(self.memory)

    def _replace(self, module: Any, name: str, instead: Any) -> None:
        if hasattr(module, name):
            self.replaced.append((module, name, getattr(module, name)))
            setattr(module, name, instead)

    def _late(self, *_: object) -> None:
        if isinstance(sys.exc_info()[1], Refusal) and self.late_alarms < _LATE_ALARMS:
            # The Refusal of the last alarm still propagates, which takes time on a busy machine.
            import signal

            self.late_alarms += 1
            signal.setitimer(signal.ITIMER_REAL, 0.05, 1)
            return
        self.late_alarms = 0
        raise Refusal(f"it takes more than {self.seconds} s")

    def _audit(self, event: str, args: tuple[Any, ...]) -> None:
        if not self.closed:
            return
        if event == "open":
            flags = args[2] if isinstance(args[2], int) else 0
            outside = bool(flags & _WRITING) or _is_device(args[0])
        else:
            outside = event.startswith(tuple(_OUTSIDE))
        if outside:
            _refuse_outside()


def _refuse_outside(*_: object, **__: object) -> None:
    raise Refusal("what reaches out of the process is not run when the source is only read")


def _ignore(*_: object) -> None:
    """Do nothing."""


def _is_device(path: Any) -> bool:
    """Return whether a file may have no end, or block its reader."""
    try:
        mode = os.stat(path).st_mode
    except (OSError, TypeError, ValueError):
        return False
    return not (stat.S_ISREG(mode) or stat.S_ISDIR(mode))


def _limit_memory(most: int) -> int:
    """Set the soft limit of this process's addresses, and return the old one."""
    import resource

    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    if hard != resource.RLIM_INFINITY and (most > hard or most == resource.RLIM_INFINITY):
        most = hard
    resource.setrlimit(resource.RLIMIT_AS, (most, hard))
    return soft


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
                raise PermissionError("a model is looked at without the network, unless --execute")
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
