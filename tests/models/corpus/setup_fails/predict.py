"""A model whose weights are missing."""

from cog import BasePredictor


class Predictor(BasePredictor):
    def setup(self):
        print("looking for weights")
        with open("weights.bin", "rb") as file:
            self.weights = file.read()

    def predict(self) -> str:
        return "never"
