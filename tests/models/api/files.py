"""Files in: says their names and what is in them."""

from typing import Optional

from cog import BaseRunner, File, Path


class Runner(BaseRunner):
    def run(
        self, one: Optional[Path] = None, many: list[Path] = [], open: Optional[File] = None, wait: str = ""
    ) -> dict:
        if wait:
            print("waits at", wait)
            with __builtins__["open"](wait) as gate:
                gate.read()
        paths = ([one] if one is not None else []) + many
        found = {path.name: path.read_text() for path in paths}
        if open is not None:
            found["open"] = open.read().decode()
        return found


def echo(file: Path, wait: str = "") -> Path:
    """Gives back what it got."""
    if wait:
        print("waits at", wait)
        with open(wait) as gate:
            gate.read()
    return file
