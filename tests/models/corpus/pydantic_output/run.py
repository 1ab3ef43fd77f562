"""Structured outputs by pydantic, old or new."""

import datetime
from typing import Dict, List, Optional

from cog import BasePredictor, Path
from pydantic import BaseModel, Field


class Box(BaseModel):
    left: int
    top: int = 0
    label: Optional[str] = None


class Output(BaseModel):
    boxes: List[Box]
    by_name: Dict[str, Box] = Field(default_factory=dict)
    when: datetime.date
    crop: Optional[Path] = None

    class Config:
        arbitrary_types_allowed = True


class Predictor(BasePredictor):
    def predict(self, count: int, crop: bool = False) -> Output:
        boxes = [Box(left=n, label="x" * n or None) for n in range(count)]
        path = None
        if crop:
            path = Path("crop.txt")
            path.write_text("cropped")
        return Output(
            boxes=boxes,
            by_name={str(b.left): b for b in boxes[:1]},
            when=datetime.date(2024, 2, 29),
            crop=path,
        )
