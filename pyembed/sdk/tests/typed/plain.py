"""The first model of the guide, without `from __future__`, as it is copied from there."""

from typing import Dict, List, Optional

from cog import BaseModel, BasePredictor, Input, Path


class Output(BaseModel):
    text: str
    scores: Dict[str, float]
    image: Optional[Path] = None


class Predictor(BasePredictor):
    def setup(self) -> None:
        self.prefix = "hello "

    def predict(
        self,
        text: str = Input(description="Text", min_length=1),
        image: Path = Input(description="A picture", accept="image/*"),
        scale: float = Input(default=1.5, ge=0, le=10),
        names: List[str] = Input(default=["a"]),
    ) -> Output:
        return Output(text=self.prefix + text + image.stem, scores=dict.fromkeys(names, scale))
