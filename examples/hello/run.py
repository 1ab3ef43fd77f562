"""The smallest model: it needs nothing but Python."""

from cog import BaseRunner, Input


class Runner(BaseRunner):
    """Greets by name."""

    def setup(self) -> None:
        """Load what every prediction needs. Called once, before the first prediction."""
        self.greeting = "hello"

    def run(
        self, name: str = Input(default="world", description="The name to greet", max_length=100)
    ) -> str:
        """Return the greeting. Called once for each prediction."""
        return f"{self.greeting} {name}"
