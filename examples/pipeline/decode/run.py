"""Split a file into passages."""

from cog import BaseRunner, Input, Path


class Runner(BaseRunner):
    """A paragraph is a passage."""

    def run(self, document: Path = Input(description="A text file in UTF-8")) -> list[str]:
        """Return the paragraphs of the file."""
        text = document.read_text(encoding="utf-8", errors="replace")
        return [" ".join(part.split()) for part in text.split("\n\n") if part.strip()]
