"""Models that keep the arrays of their predictions in many ways, and check later that nothing has changed them."""

from __future__ import annotations

import os
import threading
import time
from typing import Any

import numpy as np
from cog import BaseRunner, batch
from numpy.typing import NDArray

Floats = NDArray[np.float32]


class Box:
    """Something that can be part of a cycle."""

    me: Any
    content: Any


class Hoard:
    """What was kept: how, a buffer, and a copy of its content."""

    def __init__(self) -> None:
        self.kept: list[tuple[str, Any, bytes]] = []
        self.children: list[tuple[int, int]] = []

    def add(self, how: str, x: Floats) -> None:
        """Keep an array in that way."""
        if how != "-" and type(x.base).__name__ == "Elements":
            print(f"{how}: the request's memory", flush=True)
        ways: dict[str, Any] = {
            "array": lambda: x,
            "slice": lambda: x[1:],
            "strided": lambda: x[::3],
            "reshaped": lambda: x.reshape(2, -1).T,
            "other dtype": lambda: x.view(np.uint8),
            "memoryview": lambda: memoryview(x),
            "frombuffer": lambda: np.frombuffer(memoryview(x).cast("B"), np.uint8),
            "base": lambda: memoryview(x.base),
            "cycle": lambda: self.cycle(x),
            "thread": lambda: self.thread(x),
        }
        if how in ways:
            value = ways[how]()
            self.kept.append((how, value, self.content(value)))

    @staticmethod
    def content(value: Any) -> bytes:
        """Return what a kept object holds."""
        return np.asarray(value.content if isinstance(value, Box) else value).tobytes()

    @staticmethod
    def cycle(x: Floats) -> Box:
        """Return an object that holds itself and a part of the array."""
        box = Box()
        box.me, box.content = box, x[2:]
        return box

    def thread(self, x: Floats) -> Box:
        """Have a thread hold the array, which gives it out later."""
        box, given = Box(), threading.Event()
        box.content = np.empty(0)

        def hold(x: Floats) -> None:
            box.content = x
            given.set()

        threading.Thread(target=hold, args=(x,)).start()
        given.wait()
        return box

    def fork(self, x: Floats) -> None:
        """Have a child change its copy, and tell later whether it has what it had."""
        (asked, ask), (answered, answer) = os.pipe(), os.pipe()
        if os.fork() == 0:
            os.close(ask)
            x += 5
            want = x.tobytes()
            os.read(asked, 1)
            os.write(answer, b"1" if x.tobytes() == want else b"0")
            os._exit(0)
        os.close(asked)
        os.close(answer)
        self.children.append((ask, answered))

    def check(self) -> None:
        """Raise ValueError if something kept has changed."""
        changed = [how for how, value, was in self.kept if self.content(value) != was]
        for ask, answered in self.children:
            os.write(ask, b"x")
            if os.read(answered, 1) != b"1":
                changed.append("child")
            os.close(ask)
            os.close(answered)
        self.children = []
        if changed:
            raise ValueError(f"of {len(self.kept)} arrays these were changed: {changed}")


class Sync(BaseRunner):
    """Returns its array, after it has kept it as told."""

    def setup(self) -> None:
        self.hoard = Hoard()
        self.last: Any = None

    def run(self, x: Floats, how: str) -> Floats:
        if how == "check":
            self.hoard.check()
            return x
        if how == "crash":
            os._exit(3)
        self.hoard.add(how, x)
        if how == "wait":
            self.hoard.add("slice", x)
            print("waiting", flush=True)
            time.sleep(60)
        if how == "raise":
            self.hoard.add("slice", x)
            raise RuntimeError("as told")
        if how == "fork":
            self.hoard.fork(x)
            x -= 1
            return x
        if self.last is not None:
            self.last[:] = -7
        self.last = x if how == "write later" else None
        if how == "in place":
            x += 1
        if how == "twice":
            return np.concatenate([x, x])
        return x[5:] if how == "part" else x


class Two(BaseRunner):
    """Says what holds the elements of its arrays."""

    def run(self, x: Floats, small: Floats) -> str:
        return f"{type(x.base).__name__} {type(small.base).__name__}"


class Async(BaseRunner):
    """Returns its array, after it has kept it as told."""

    def setup(self) -> None:
        self.hoard = Hoard()

    async def run(self, x: Floats, how: str) -> Floats:
        if how == "check":
            self.hoard.check()
        self.hoard.add(how, x)
        return x


class Batched(BaseRunner):
    """Returns its arrays, after it has kept them as told."""

    def setup(self) -> None:
        self.hoard = Hoard()

    @batch(max_size=4)
    def run(self, x: list[Floats], how: list[str]) -> list[Floats]:
        for array, way in zip(x, how):
            if way == "check":
                self.hoard.check()
            self.hoard.add(way, array)
        return x
