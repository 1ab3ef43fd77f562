"""A picture in, a picture out."""

from __future__ import annotations

from cog import BaseRunner, Input, Path
from PIL import Image, ImageOps


class Runner(BaseRunner):
    def run(
        self,
        image: Path,
        size: int = Input(default=512, ge=1, le=4096, description="longest side, in pixels"),
        gray: bool = Input(default=False, description="without colours"),
        format: str = Input(default="png", choices=["png", "jpeg", "webp"]),
    ) -> Path:
        with Image.open(image) as picture:
            result = ImageOps.exif_transpose(picture).convert("RGB")
        result.thumbnail((size, size))  # never enlarges
        if gray:
            result = ImageOps.grayscale(result)
        # Named after what came in; each prediction has its own folder for that.
        target = image.with_name(f"{image.stem}-{size}.{format}")
        result.save(target)
        return target
