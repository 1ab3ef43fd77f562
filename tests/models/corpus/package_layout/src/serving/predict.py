"""The src layout: the file is not part of a package, its folder is put on the path by hand."""

import sys
from pathlib import Path as FilePath

sys.path.insert(0, str(FilePath(__file__).resolve().parent.parent))

from cog import BasePredictor  # noqa: E402
from engine import Engine, __version__  # noqa: E402
from engine.text import clean  # noqa: E402


class Predictor(BasePredictor):
    def setup(self) -> None:
        self.engine = Engine()

    def predict(self, text: str) -> str:
        return f"{__version__} {self.engine.run(clean(text))}"
