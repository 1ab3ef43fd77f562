"""Tell what files are by their content: Magika, whose weights come with its wheel, on onnxruntime."""

from cog import BaseModel, BaseRunner, Input, Path
from magika import Magika


class Kind(BaseModel):
    """What one file is."""

    label: str
    description: str
    mime_type: str
    group: str
    is_text: bool
    score: float


class Runner(BaseRunner):
    """Tells some 200 kinds of content apart, from a few hundred bytes of each file."""

    def setup(self) -> None:
        """Load the network."""
        self.magika = Magika()

    def run(
        self, files: list[Path] = Input(description="Files of any kind; their names do not matter")
    ) -> list[Kind]:
        """Return for each file what it is and how sure that is, 0 to 1; all files go through the network at once."""
        return [
            Kind(
                label=str(result.output.label),
                description=result.output.description,
                mime_type=result.output.mime_type,
                group=result.output.group,
                is_text=result.output.is_text,
                score=round(result.score, 4),
            )
            for result in self.magika.identify_paths(files)
        ]
