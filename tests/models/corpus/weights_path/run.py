"""setup(weights: Path): a URL in COG_WEIGHTS is a URLPath, which convert() fetches."""

from cog import BaseRunner, Path


class Runner(BaseRunner):
    def setup(self, weights: Path) -> None:
        self.weights = f"{type(weights).__name__} {weights.convert().read_text()}"

    def run(self) -> str:
        return self.weights
