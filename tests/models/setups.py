"""Setups that go well, fail, hang, and print."""

import atexit
import ctypes
import os
import signal
import sys
import time
from typing import Any

from cog import BaseRunner, Path


class Well(BaseRunner):
    def setup(self) -> None:
        print("loading")
        print("careful", file=sys.stderr)
        os.write(1, b"raw\n")
        self.state = 41
        atexit.register(self.leave)

    def leave(self) -> None:
        with open("atexit.txt", "a") as file:
            file.write("left\n")

    def run(self) -> int:
        self.state += 1
        return self.state


class Weighty(BaseRunner):
    def setup(self, weights: Path | None = None) -> None:
        self.weights = weights

    def run(self) -> str:
        return f"{type(self.weights).__name__} {self.weights}"


class Failing(BaseRunner):
    def setup(self) -> None:
        print("about to fail")
        raise FileNotFoundError("weights.bin is not there")

    def run(self) -> None: ...


class Exiting(BaseRunner):
    def setup(self) -> None:
        sys.exit("cannot go on")

    def run(self) -> None: ...


class Crashing(BaseRunner):
    def setup(self) -> None:
        print("about to crash")
        ctypes.string_at(0)

    def run(self) -> None: ...


class Vanishing(BaseRunner):
    def setup(self) -> None:
        os._exit(9)

    def run(self) -> None: ...


class Hanging(BaseRunner):
    def setup(self) -> None:
        print("hanging")
        time.sleep(1000)

    def run(self) -> None: ...


class Forking(BaseRunner):
    """A forked child that comes back from setup must not serve."""

    def setup(self) -> None:
        self.pid = os.getpid()
        self.child = os.fork()
        if self.child:
            os.waitpid(self.child, 0)

    def run(self) -> bool:
        return self.pid == os.getpid() and self.child != 0


class Second(BaseRunner):
    """The first setup goes well; the second, in the next worker, does not."""

    def setup(self) -> None:
        if os.path.exists("once"):
            raise RuntimeError("the second time")
        open("once", "w").close()

    def run(self) -> None:
        os.kill(os.getpid(), signal.SIGKILL)


class Untyped(BaseRunner):
    def run(self, x) -> Any:
        return x


class Union(BaseRunner):
    def run(self, x: Path | str) -> Any:
        return x


def plain(n: int = 1) -> int:
    return n + 1
