"""Literal types, alone, in lists, with None; choices of numbers."""

from typing import List, Literal, Optional

from cog import Input

Size = Literal["s", "m", "l"]


def run(
    size: Size = "m",
    sizes: List[Size] = ["s"],
    mixed: Literal["auto", 1, 2] = "auto",
    maybe: Optional[Literal["a"]] = None,
    width: int = Input(default=64, choices=[64, 128]),
    ratio: float = Input(default=1, choices=[1, 1.5]),
) -> list:
    return [size, sizes, mixed, maybe, width, ratio, type(ratio).__name__]
