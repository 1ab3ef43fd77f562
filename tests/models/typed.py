"""Inputs of each type with constraints; the output tells what arrived, as type and repr."""

from typing import Any, List, Literal, Optional

from cog import BaseRunner, Input, Path


def kind(value: object) -> str:
    return f"{type(value).__name__} {value!r}"


class Runner(BaseRunner):
    def run(
        self,
        text: str = Input(default="abc", min_length=2, max_length=4, regex="^[a-z]+$"),
        whole: int = Input(default=5, ge=1, le=10),
        part: float = Input(default=0.5, ge=0, le=1),
        flag: bool = False,
        words: List[str] = ["a"],
        numbers: list[int] = Input(default=[1, 2]),
        free: list = [],
        table: dict = {},
        scores: dict[str, float] = {},
        maybe: Optional[int] = None,
        size: Literal["s", "m"] = "s",
        choice: int = Input(default=1, choices=[1, 2, 3]),
        anything: Any = {},
        mixed: int | str = 7,
    ) -> dict:
        return {name: kind(value) for name, value in locals().items() if name != "self"}


class Required(BaseRunner):
    """Nothing has a default, but what may be null."""

    def run(self, second: str, first: int, third: Optional[float], fourth: list[str]) -> str:
        return ", ".join(map(kind, (second, first, third, fourth)))


class Mutable(BaseRunner):
    """Changes its default."""

    def run(self, items: list[int] = [1], table: dict = {"n": 0}) -> list:
        items.append(2)
        table["n"] += 1
        return [items, table]


class Scaled(BaseRunner):
    """Numbers without bounds."""

    def run(self, whole: int = 0, part: float = 0.0, text: str = "") -> str:
        return ", ".join(map(kind, (whole, part, text)))


class Where(BaseRunner):
    """A file that may be left out."""

    def run(self, file: Optional[Path] = None, files: list[Path] = []) -> str:
        return " ".join(p.read_text() for p in [file, *files] if p is not None)
