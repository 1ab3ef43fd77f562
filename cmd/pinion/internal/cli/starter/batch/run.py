"""A model that computes many predictions in one call. `cog` comes with the server."""

from cog import BaseRunner, Input, batch


class Runner(BaseRunner):
    """Counts letters. Replace it by your model."""

    def setup(self) -> None:
        """Load what every prediction needs, such as weights. Called once, before the first prediction."""
        self.vowels = frozenset("aeiou")

    @batch(max_size=32)
    def run(self, text: list[str] = Input(description="The text")) -> list[int]:
        """Return one result for each text. Each request brings one, and the server gathers those that wait."""
        return [sum(letter in self.vowels for letter in each.lower()) for each in text]
