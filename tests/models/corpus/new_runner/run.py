"""What the newest guide teaches."""

from cog import BaseRunner, Input, Path


class Runner(BaseRunner):
    def setup(self) -> None:
        """Load the model into memory"""
        self.model = str.upper

    def run(
        self,
        text: str = Input(description="What to shout", min_length=1, max_length=20, regex="^[a-z ]+$"),
        suffix: str = Input(default="!", deprecated=True),
    ) -> Path:
        """Run a single prediction on the model"""
        out = Path("shout.txt")
        out.write_text(self.model(text) + suffix)
        return out
