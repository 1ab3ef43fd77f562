"""Files in and out."""

import os
from typing import Any, Optional

from cog import BaseRunner, Input, Path


class Runner(BaseRunner):
    def run(self, file: Path, more: list[Path] = Input(default=[]), note: Optional[Path] = None) -> dict:
        files = [file, *more] + ([note] if note is not None else [])
        print("folder", os.path.dirname(file))
        return {
            "types": [type(f).__name__ for f in files],
            "absolute": [f.is_absolute() for f in files],
            "names": [f.name for f in files],
            "contents": [f.read_bytes().decode("latin-1") for f in files],
        }


def upper(file: Path) -> Path:
    """A file of the prediction's own."""
    target = Path("upper.txt")
    target.write_bytes(file.read_bytes().upper())
    return target


def back(file: Path) -> Path:
    return file


def several() -> Any:
    first, second = Path("first.json"), Path("second.bin")
    first.write_text("{}")
    second.write_bytes(bytes(range(256)))
    with open("third.txt", "w") as third:
        third.write("3")
    return {"files": [first, {"second": second}], "open": open("third.txt", "rb")}


class FileLike(BaseRunner):
    def run(self, how: str) -> Any:
        import io

        if how == "buffer":
            return io.BytesIO(b"abc")
        if how == "folder":
            os.makedirs("folder", exist_ok=True)
            return Path("folder")
        raise ValueError(how)
