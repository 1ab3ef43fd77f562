"""What a model sees that runs where the official cog package is installed."""

import importlib.metadata
import subprocess
import sys

import cog
from cog import BasePredictor, ConcatenateIterator, Input, current_scope, streaming


class Predictor(BasePredictor):
    def setup(self) -> None:
        self.installed = importlib.metadata.version("cog")

    @streaming
    def predict(self, text: str = Input(default="a")) -> ConcatenateIterator[str]:
        current_scope().record_metric("length", len(text))
        child = [sys.executable, "-c", "import cog; print(cog.__file__)"]
        yield self.installed
        yield cog.__file__
        yield subprocess.run(child, check=True, capture_output=True, text=True).stdout.strip()
        yield text
