"""setup(weights): what COG_WEIGHTS says, as the str that it is."""

from cog import BaseRunner


class Runner(BaseRunner):
    def setup(self, weights: str = "") -> None:
        self.weights = weights

    def run(self) -> str:
        return self.weights
