"""Outputs of megabytes: one text, many numbers, a large file; and as large an input."""

from typing import Any

from cog import BaseRunner, Path


class Runner(BaseRunner):
    def run(self, how: str, n: int = 0, text: str = "") -> Any:
        if how == "text":
            return "ü" * n
        if how == "numbers":
            return list(range(n))
        if how == "file":
            path = Path("large.bin")
            path.write_bytes(bytes(n))
            return path
        return len(text)
