"""Models that Replicate's clients ask."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Optional

from cog import BaseRunner, Path


class Words(BaseRunner):
    """Yields the words of a text or of a file."""

    def run(self, text: str = "", file: Optional[Path] = None, files: list[Path] = []) -> Iterator[str]:  # noqa: B006
        for path in [file] * (file is not None) + files:
            text += f" {path.suffix}" + path.read_text()
        for word in text.split():
            if word == "fail":
                raise ValueError("the model failed")
            if word == "log":
                print("a line\nanother")
            if word == "number":
                yield 7  # type: ignore[misc]
            if word == "lines":
                yield "a\nb\r\nc"
            while word == "forever":
                time.sleep(0.01)
            yield word + " "


class Shout(BaseRunner):
    """Returns one text, so that it does not stream."""

    def run(self, text: str) -> str:
        return text.upper()
