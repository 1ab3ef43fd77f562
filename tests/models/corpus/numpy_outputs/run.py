"""Results of numpy as they are."""

from typing import Any

import numpy as np
from cog import BaseModel, BaseRunner


class Output(BaseModel):
    embedding: Any
    score: float
    index: int
    mask: Any


class Runner(BaseRunner):
    def setup(self) -> None:
        self.matrix = np.eye(3, dtype=np.float32) * np.arange(1, 4, dtype=np.float32)

    def run(self, vector: list[float], bad: bool = False) -> Output:
        result = self.matrix @ np.asarray(vector, dtype=np.float32)
        if bad:
            result[1] = np.nan
        return Output(
            embedding=result,
            score=np.float32(result.max()),
            index=np.argmax(result),
            mask={"positive": result > 0, "shape": result.shape, "empty": np.zeros((0, 2)), "half": np.float16(0.5)},
        )
