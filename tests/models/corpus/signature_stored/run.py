"""Types that are refused, in a folder that brings the document of its image."""

from typing import Optional, Union

from cog import BaseRunner, Input, Path


class Size:
    def __init__(self, text: str = "small") -> None:
        self.text = text


class Runner(BaseRunner):
    def run(
        self,
        image: Union[Path, str],
        size: Size = Size(),
        mask: bytes = Input(default=None),
        steps: int = Input(default=0, ge=1),
        count: int = Input(default=2, le=9),
        extra=None,
    ) -> Optional[str]:
        kinds = " ".join(type(value).__name__ for value in (image, size, mask, steps, count, extra))
        return f"{kinds} {steps} {count}"
