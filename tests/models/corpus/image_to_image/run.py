"""A picture in, a picture out, in a format that the client chooses."""

from pathlib import Path as FilePath
from typing import Optional

from cog import BaseRunner, Input, Path
from PIL import Image, ImageOps


class Runner(BaseRunner):
    def run(
        self,
        image: Path = Input(description="Input image", accept="image/*"),
        mask: Optional[Path] = Input(description="White is repainted", default=None),
        scale: float = Input(default=2, ge=0.1, le=4),
        output_format: str = Input(default="png", choices=["png", "jpg", "webp"]),
    ) -> Path:
        assert isinstance(image, FilePath) and image.suffix == ".png", image
        picture = Image.open(image).convert("RGB")
        if mask is not None:
            covered = ImageOps.invert(picture)
            picture = Image.composite(covered, picture, Image.open(mask).convert("L"))
        picture = picture.resize((int(picture.width * scale), int(picture.height * scale)))
        out = Path(f"output.{output_format}")
        picture.save(out)
        print("saved", out.name, picture.getpixel((0, 0)))
        return out
