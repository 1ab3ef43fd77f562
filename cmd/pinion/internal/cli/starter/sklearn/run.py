"""A classifier of scikit-learn. `cog` comes with the server; there is nothing to install for it."""

from cog import BaseRunner, Input
from sklearn.datasets import load_iris
from sklearn.linear_model import LogisticRegression


class Runner(BaseRunner):
    """Names irises by the size of their petals. Replace it by your model."""

    def setup(self) -> None:
        """Train on the data that scikit-learn brings. Load your own model here, by joblib.load or skops.io.load."""
        data = load_iris()
        self.names = data.target_names
        self.model = LogisticRegression(max_iter=1000).fit(data.data[:, 2:], data.target)

    def run(
        self,
        petal_length: float = Input(description="In cm", ge=0, le=20),
        petal_width: float = Input(description="In cm", ge=0, le=20),
    ) -> dict[str, float]:
        """Return the probability of each species."""
        chances = self.model.predict_proba([[petal_length, petal_width]])[0]
        return {str(name): float(chance) for name, chance in zip(self.names, chances)}
