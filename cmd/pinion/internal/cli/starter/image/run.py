"""A picture in, a picture out. `cog` comes with the server; there is nothing to install for it."""

from cog import BaseRunner, Input, Path
from PIL import Image, ImageOps


class Runner(BaseRunner):
    """Makes pictures smaller. Replace it by your model."""

    def run(
        self,
        image: Path = Input(description="The picture"),
        size: int = Input(default=512, description="Longest side, in pixels", ge=1, le=4096),
        gray: bool = Input(default=False, description="Without colours"),
    ) -> Path:
        """Make one prediction. The input is downloaded before, and the output is sent after it."""
        with Image.open(image) as picture:
            result = ImageOps.exif_transpose(picture).convert("RGB")
        result.thumbnail((size, size))
        if gray:
            result = ImageOps.grayscale(result)
        target = image.with_name(f"{image.stem}-{size}.png")  # each prediction has its own folder
        result.save(target)
        return target
