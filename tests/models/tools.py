"""Models as tools of agents: an output of each kind."""

import sys
import time
from pathlib import Path as Local
from typing import Any, Optional

from collections.abc import Iterator

from cog import BaseModel, BaseRunner, ConcatenateIterator, Input, Path, example, tool

PNG = b"\x89PNG\r\n\x1a\n"


def made(name: str, content: bytes) -> Path:
    Local(name).write_bytes(content)
    return Path(name)


class Text(BaseRunner):
    """Repeats a text.

    The second paragraph is for people.
    """

    @tool(title="Repeat", read_only=True, idempotent=True, open_world=False)
    @example(text="hi", n=2)
    def run(
        self,
        text: str = Input(description="What to repeat"),
        n: int = Input(default=1, ge=0, le=10_000_000),
        mode: str = Input(default="calm", choices=["calm", "loud"]),
        size: Optional[int] = None,
        file: Optional[Path] = Input(default=None, accept="text/plain"),
    ) -> str:
        print("repeating", text)
        if text == "fail":
            raise ValueError("cannot repeat that")
        if file is not None:
            text += file.read_text()
        return (text.upper() if mode == "loud" else text) * n


class Found(BaseModel):
    label: str
    score: float
    picture: Optional[Path] = None


class Record(BaseRunner):
    def run(self, label: str = "cat", bytes: int = 0) -> Found:
        picture = made("found.png", PNG + b"x" * bytes) if bytes else None
        return Found(label=label, score=0.5, picture=picture)


class Picture(BaseRunner):
    def run(self, bytes: int = 0) -> Path:
        return made("out.png", PNG + b"x" * bytes)


class Gate(BaseRunner):
    """Makes a picture once a named pipe opens, and draws half a progress bar before."""

    @tool(task=True)
    def run(self, gate: str = "", fail: bool = False) -> Path:
        print("painting")
        print("\r 50%|##  | 1/2 [00:01<00:01, 1.00it/s]", end="", file=sys.stderr, flush=True)
        if gate:
            Local(gate).read_text()
        if fail:
            raise ValueError("cannot paint that")
        return made("out.png", PNG)


class Files(BaseRunner):
    def run(self) -> list[Path]:
        sound, text, binary = made("a.wav", b"RIFF"), made("a.txt", "é".encode()), made("a.bin", b"\xff")
        return [sound, text, binary]


class Numbers(BaseRunner):
    def run(self, n: int = 3) -> list[int]:
        return list(range(n))


class Anything(BaseRunner):
    def run(self, what: Any = None) -> Any:
        return what


class Words(BaseRunner):
    def run(self, text: str = "a b c") -> ConcatenateIterator[str]:
        for word in text.split():
            yield word + " "


class Items(BaseRunner):
    def run(self, n: int = 3, pause: float = 0.0) -> Iterator[int]:
        for i in range(n):
            time.sleep(pause)
            yield i


class Steps(BaseRunner):
    """Draws a progress bar as tqdm does, up to a step; one that is negative never ends."""

    def run(self, n: int = 3) -> str:
        for i in range(n):
            print(f"\r {100 * (i + 1) // n}%|##  | {i + 1}/{n} [00:01<00:01, 1.00it/s]", end="", file=sys.stderr, flush=True)
            time.sleep(0.05)
        while n < 0:
            time.sleep(0.01)
        return "done"
