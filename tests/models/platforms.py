"""Models that clients of KServe v1, Vertex AI and SageMaker ask."""

from collections.abc import Iterator

import cog
from cog import BaseRunner, Path


class Adder(BaseRunner):
    """Adds a number, and notes how many items came in one batch."""

    @cog.batch(max_size=8)
    def run(self, x: list[int], add: int = 1) -> list[dict]:
        if 13 in x:
            raise ValueError("13 is not added to")
        return [{"sum": item + add, "batch": len(x)} for item in x]


class Upper(BaseRunner):
    """Returns a file in upper case."""

    def run(self, file: Path, suffix: str = "") -> Path:
        out = Path("upper.txt")
        out.write_text(file.read_text().upper() + suffix)
        return out


class Words(BaseRunner):
    """Yields the words of a text."""

    def run(self, text: str) -> Iterator[str]:
        for word in text.split():
            if word == "bad":
                raise ValueError("a bad word")
            yield word
