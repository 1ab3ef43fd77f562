"""A dict input that pydantic checks; its error is the prediction's."""

from typing import Any, Dict, List

import pydantic
from cog import BasePredictor, Input


class Point(pydantic.BaseModel):
    x: float
    y: float = 0.0


class Request(pydantic.BaseModel):
    points: List[Point]


class Predictor(BasePredictor):
    def predict(self, request: Dict[str, Any] = Input(description="What to sum")) -> List[Point]:
        parsed = Request(**request)
        return [Point(x=sum(p.x for p in parsed.points), y=sum(p.y for p in parsed.points))]
