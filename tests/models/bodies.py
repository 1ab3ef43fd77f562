"""Bodies that are not JSON: files in, a file out."""

from typing import Any, Optional

from cog import BaseRunner, Input, Path


class Runner(BaseRunner):
    def run(
        self,
        file: Path,
        more: list[Path] = Input(default=[]),
        times: int = Input(default=1, ge=1),
        upper: bool = False,
        tags: list[str] = Input(default=[]),
        note: Optional[str] = None,
        weights: Optional[list[float]] = None,
    ) -> Path:
        print("folder", file.parent.parent)
        data = b"".join(f.read_bytes() for f in [file, *more]) * times
        if note == "raise":
            raise ValueError("as asked")
        if upper:
            data = data.upper()
        names = " ".join(f.name for f in [file, *more])
        print("names", names)
        print("given", times, upper, tags, note, weights)
        target = Path("result.png")
        target.write_bytes(data)
        return target


def listed(value: int, file: Optional[Path] = None) -> Any:
    """What a client of MessagePack gets back."""
    Path("a.bin").write_bytes(bytes(range(256)))
    return {"value": value, "files": [Path("a.bin")], "read": file.read_bytes().decode() if file else None}
