"""Every way in which a model's code fails."""

import os
import signal
import sys
import threading

from cog import BaseRunner


class ModelError(Exception):
    pass


class Unprintable(Exception):
    def __str__(self) -> str:
        raise RuntimeError("no text")


def inner(name: str) -> None:
    if name == "value":
        raise ValueError("the message")
    if name == "bare":
        raise KeyError
    if name == "own":
        raise ModelError("mine\nin two lines")
    if name == "chained":
        try:
            {}["key"]
        except KeyError as cause:
            raise ModelError("outer") from cause
    if name == "exit":
        sys.exit(3)
    if name == "exit text":
        sys.exit("fatal text")
    if name == "SystemExit":
        raise SystemExit
    if name == "interrupt":
        raise KeyboardInterrupt
    if name == "interrupt signal":
        signal.signal(signal.SIGINT, signal.default_int_handler)
        os.kill(os.getpid(), signal.SIGINT)
        while True:
            pass
    if name == "memory":
        bytearray(1 << 62)
    if name == "recursion":
        inner(name)
    if name == "generator exit":
        raise GeneratorExit
    if name == "unprintable":
        raise Unprintable
    if name == "surrogate":
        raise ValueError("\ud800")
    if name == "name error":
        undefined_name  # noqa: B018, F821
    if name == "stop":
        raise StopIteration
    if name == "group" and sys.version_info >= (3, 11):
        raise ExceptionGroup("several", [ValueError("a"), TypeError("b")])  # noqa: F821
    if name == "thread":

        def work() -> None:
            raise ModelError("in a thread")

        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
    if name == "unraisable":

        class Bad:
            def __del__(self) -> None:
                raise ModelError("in __del__")

        Bad()
    if name == "closed streams":
        sys.stdout.close()
        sys.stderr.close()
        raise ValueError("after closing")


class Runner(BaseRunner):
    def setup(self) -> None:
        self.calls = 0

    def run(self, name: str = "") -> int:
        self.calls += 1
        inner(name)
        return self.calls


def large(size: int) -> None:
    raise ValueError("e" * size)
