"""Without a class name in the reference `Predictor` is taken, though other classes stand here too."""

from cog import BasePredictor


class Helper(BasePredictor):
    def predict(self) -> str:
        return "helper"


class Predictor(Helper):
    def predict(self) -> str:
        return super().predict() + " and predictor"
