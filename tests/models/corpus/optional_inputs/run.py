"""All that may be left out."""

from typing import List, Optional

from cog import BaseRunner, Input, Path


class Runner(BaseRunner):
    def run(
        self,
        text: Optional[str],
        number: Optional[float] = Input(description="May be null"),
        names: Optional[List[str]] = None,
        numbers: List[Optional[int]] = Input(default=[None]),
        files: Optional[List[Path]] = None,
        limit: Optional[int] = Input(default=3, ge=1, le=5),
    ) -> list:
        texts = None if files is None else [file.read_text() for file in files]
        return [text, number, names, numbers, texts, limit]
