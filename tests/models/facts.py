"""What a program can see of its surroundings. Under plain Python it prints the same facts."""

import json
import os
import signal
import sys


class Shape:
    """To be pickled."""

    def __init__(self, sides: int) -> None:
        self.sides = sides


def facts() -> dict:
    import site
    import sysconfig

    def imported(name: str) -> str:
        try:
            module = __import__(name)
        except ImportError:
            return "missing"
        return getattr(module, "__file__", None) or "built in"

    return {
        "executable": sys.executable,
        "prefix": sys.prefix,
        "base_prefix": sys.base_prefix,
        "base_executable": getattr(sys, "_base_executable", None),
        "version": sys.version,
        "path": sys.path[1:],
        "site": site.getsitepackages(),
        "user_site": site.ENABLE_USER_SITE,
        "purelib": sysconfig.get_path("purelib"),
        "modules": {name: imported(name) for name in ["numpy", "pip", "ssl", "ctypes", "sqlite3", "zlib", "_decimal"]},
        "cwd": os.getcwd(),
        "flags": {name: getattr(sys.flags, name) for name in ["isolated", "no_site", "optimize", "safe_path"] if hasattr(sys.flags, name)},
        "encoding": [sys.getdefaultencoding(), sys.getfilesystemencoding()],
        "argv": sys.argv,
        "recursion": sys.getrecursionlimit(),
        "sigpipe": str(signal.getsignal(signal.SIGPIPE)),
    }


def run() -> dict:
    return facts()


def environment() -> dict:
    return dict(os.environ)


def relative() -> list:
    """A file beside the model, by a relative path; the model's own module, by __file__ and by name."""
    import pickle

    with open("note.txt") as file:
        note = file.read()
    shape = pickle.loads(pickle.dumps(Shape(3)))
    return [note, os.path.basename(__file__), __name__, type(shape).__module__, isinstance(shape, Shape), shape.sides]


def streams() -> dict:
    """Whether a stream is buffered by line, in which encoding, and whether bytes pass."""
    sys.stdout.buffer.write("grün\n".encode())
    return {
        "stdin": sys.stdin.read(),
        "encoding": sys.stdout.encoding,
        "fileno": [sys.stdout.fileno(), sys.stderr.fileno()],
        "isatty": sys.stdout.isatty(),
        "dont_write_bytecode": sys.dont_write_bytecode,
    }


def saved_signals() -> list:
    """The model's own handlers, for signals that the runtime does not use."""
    import time

    seen: list = []
    for name in ["SIGUSR2", "SIGHUP", "SIGALRM", "SIGTERM", "SIGINT"]:
        number = getattr(signal, name)
        signal.signal(number, lambda n, _: seen.append(signal.Signals(n).name))
        os.kill(os.getpid(), number)
        deadline = time.monotonic() + 60
        while seen[-1:] != [name] and time.monotonic() < deadline:
            time.sleep(0.001)
        signal.signal(number, signal.SIG_DFL)
    return seen


if __name__ == "__main__":
    print(json.dumps(facts()))
