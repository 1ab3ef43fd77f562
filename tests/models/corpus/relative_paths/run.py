"""Files beside the model by relative paths, at import and later, and a model that changes its folder."""

import os
from pathlib import Path as FilePath
from typing import Optional

from cog import BaseRunner, Path

with open("data/labels.txt") as file:
    LABELS = file.read().split()


class Runner(BaseRunner):
    def setup(self) -> None:
        self.home = os.getcwd()
        os.makedirs("cache", exist_ok=True)

    def run(self, index: int, file: Optional[Path] = None) -> dict:
        os.chdir("cache")
        try:
            FilePath("last.txt").write_text(LABELS[index])
            given = file.read_text() if file is not None else None
        finally:
            os.chdir(self.home)
        return {
            "label": LABELS[index],
            "last": Path("cache/last.txt"),
            "given": given,
            "same": os.path.dirname(os.path.abspath(__file__)) == os.getcwd(),
        }
