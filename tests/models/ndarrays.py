"""Models whose inputs are numpy arrays, one for each way to serve."""

from __future__ import annotations

from typing import Any, Optional

import numpy as np
from numpy.typing import NDArray

import cog
from cog import BaseRunner

Matrix = np.ndarray[tuple[int, int], np.dtype[np.uint8]]


def described(array: Any) -> dict[str, Any]:
    """What an array is, in JSON; then it is written to, as a model's own may be."""
    assert isinstance(array, np.ndarray)
    result = {"dtype": str(array.dtype), "shape": array.shape, "content": array.tolist()}
    array.fill(1)
    return result


class Sync(BaseRunner):
    def run(
        self,
        x: NDArray[np.float32],
        m: Optional[Matrix] = None,
        any: np.ndarray = [1, 2],
        several: list[NDArray[np.int64]] = [],
    ) -> Any:
        result = {"x": described(x), "any": described(any), "several": [described(one) for one in several]}
        if m is not None:
            result["m"] = described(m)
        return result


class Async(BaseRunner):
    @cog.concurrent(max=2)
    async def run(self, x: NDArray[np.float32]) -> Any:
        return {"x": described(x)}


class Batched(BaseRunner):
    @cog.batch(max_size=4)
    def run(self, x: list[NDArray[np.float32]], times: int = 1) -> list[Any]:
        return [{"x": described(one), "times": times} for one in x]


class Prepared(BaseRunner):
    def preprocess(self, x: NDArray[np.float32]) -> NDArray[np.float32]:
        return x + 1

    @cog.batch(max_size=4)
    def run(self, items: list[Any]) -> list[Any]:
        return [{"x": described(one - 1)} for one in items]


class AsyncBatched(BaseRunner):
    @cog.batch(max_size=4)
    async def run(self, x: list[NDArray[np.float32]]) -> list[Any]:
        return [{"x": described(one)} for one in x]


def learn(x: list[float]) -> Any:
    """Beside a model with an array of that name: this is a list."""
    assert type(x) is list
    return {"content": x}
