"""Models whose outputs are not what their return annotations say."""

from collections.abc import Iterator
from typing import Optional

import cog
from cog import BaseModel, BaseRunner, Path


class Text(BaseRunner):
    def run(self, good: bool = False) -> str:
        return "text" if good else 5


class Point(BaseModel):
    x: float
    label: Optional[str] = None


class Nested(BaseRunner):
    def run(self, good: bool = False) -> list[Point]:
        return [{"x": 1.0}, {"x": 2.0} if good else {"x": "token"}]


class Items(BaseRunner):
    @cog.streaming
    def run(self, good: bool = False) -> Iterator[str]:
        yield "first"
        yield "second" if good else 5
        yield "third"


class Batch(BaseRunner):
    @cog.batch(max_size=4)
    async def run(self, good: list[bool]) -> list[str]:
        return ["text" if one else None for one in good]


class File(BaseRunner):
    def run(self, good: bool = True) -> Path:
        out = Path("out.txt")
        out.write_text("text")
        return out


def text(good: bool = False) -> str:
    return "text" if good else 5
