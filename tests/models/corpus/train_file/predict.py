"""A model that is fine-tuned: its weights are a file that a training wrote."""

import json
from typing import Optional

from cog import BasePredictor, Path


class Predictor(BasePredictor):
    def setup(self, weights: Optional[Path] = None) -> None:
        self.words = {"hello": "hallo"}
        if weights is not None and weights.exists():
            self.words.update(json.loads(weights.read_text()))
            print("fine-tuned")

    def predict(self, text: str) -> str:
        return " ".join(self.words.get(word, "?") for word in text.split())
