"""TypedDicts in and out, with members that may be missing."""

from typing import List, Optional, TypedDict

from cog import BaseRunner


class Size(TypedDict):
    width: float
    height: float


class Box(Size, total=False):
    label: str
    children: List[Size]


class Runner(BaseRunner):
    def run(self, box: Box, others: List[Box] = [], scale: Optional[float] = None) -> Box:
        print({key: type(value).__name__ for key, value in box.items()})
        factor = 1 if scale is None else scale
        return {**box, "width": box["width"] * factor, "height": box["height"] * factor}
