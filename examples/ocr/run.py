"""Read the text in a picture: RapidOCR, whose weights come with its wheel, on onnxruntime."""

from typing import Any

from cog import BaseRunner, Input, Path
from PIL import Image, ImageOps
from rapidocr import RapidOCR

SAMPLE = Path(__file__).with_name("sample.png")


class Runner(BaseRunner):
    """Finds the lines of text in a picture and reads them."""

    def setup(self) -> None:
        """Load the three networks: where is text, which way up is it, what does it say."""
        self.ocr = RapidOCR(params={"Global.log_level": "warning"})
        # RapidOCR loads each network at its first use; without this the first prediction would pay for it.
        self.ocr(open_picture(SAMPLE))

    def run(
        self,
        image: Path = Input(
            description="The picture: PNG, JPEG, or another format that Pillow opens"
        ),
        min_score: float = Input(
            default=0.5,
            ge=0,
            le=1,
            description="Leave out lines that the model is less sure of than this",
        ),
    ) -> list[dict[str, Any]]:
        """Return the lines in reading order, each with `text`, `score` and `box`.

        `score` is the model's confidence from 0 to 1. `box` is the line's outline in pixels of the picture: four
        points `[x, y]`, clockwise from the top left corner of the text.
        """
        found = self.ocr(open_picture(image), text_score=min_score)
        if found.txts is None:  # no text at all
            return []
        return [
            {
                "text": text,
                "score": round(float(score), 4),
                "box": [[round(float(c), 1) for c in p] for p in box],
            }
            for text, score, box in zip(found.txts, found.scores, found.boxes)
        ]


def open_picture(path: Path) -> Image.Image:
    """Return the picture upright and in true colours, which is how the networks want it."""
    picture = ImageOps.exif_transpose(Image.open(path))
    if picture.mode in ("L", "RGB", "RGBA"):
        return picture
    # RapidOCR would take the palette numbers of a GIF or of a small PNG for brightness.
    return picture.convert("RGBA" if "transparency" in picture.info else "RGB")
