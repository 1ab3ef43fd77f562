"""A model that Pinion serves. `cog` comes with the server; there is nothing to install."""

from cog import BaseRunner, Input


class Runner(BaseRunner):
    """Greets by name. Replace it by your model."""

    def setup(self) -> None:
        """Load what every prediction needs, such as weights. Called once, before the first prediction."""
        self.greeting = "hello"

    def run(
        self,
        name: str = Input(default="world", description="The name to greet", max_length=100),
        times: int = Input(default=1, description="How often", ge=1, le=10),
    ) -> str:
        """Make one prediction. The types say what a request may hold, and what the answer is.

        Files come in and go out as cog.Path, secrets as cog.Secret. To send a text piece by piece, return a
        ConcatenateIterator[str], put @streaming above the function, and yield.
        """
        return " ".join([f"{self.greeting} {name}"] * times)
