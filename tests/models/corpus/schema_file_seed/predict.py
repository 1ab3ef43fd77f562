"""An image of 2023: an int whose default is None, which its document lets be absent."""

from cog import BasePredictor, Input, Path


class Predictor(BasePredictor):
    def predict(
        self,
        prompt: str,
        seed: int = Input(description="Random seed. Leave blank to randomize the seed", default=None),
        image: Path = Input(description="Start from this", default=None),
        scale: float = Input(default=None, ge=0, le=1),
    ) -> str:
        return f"{prompt} {seed} {image and image.read_text()} {scale}"
