"""Models that clients of the Open Inference Protocol ask."""

import os
import time
from collections.abc import Iterator
from typing import Optional

import numpy as np
from cog import AsyncIterator, BaseModel, BaseRunner, ConcatenateIterator, Input, batch
from numpy.typing import NDArray

Vector = np.ndarray[tuple[int], np.dtype[np.float32]]


class Scaler(BaseRunner):
    """Scales an array."""

    def run(self, x: NDArray[np.float32], k: float = 2.0) -> list[list[float]]:
        return (x * k).tolist()


class Describer(BaseRunner):
    """Says what it got, and whether it may change it."""

    def run(
        self, x: np.ndarray, half: Optional[NDArray[np.float16]] = None, flags: Optional[NDArray[np.bool_]] = None
    ) -> str:
        x += x.dtype.type(1)
        said = [f"{x.dtype}{list(x.shape)} {np.nansum(np.where(np.isinf(x), 0, x)):g} {int(np.isnan(x).sum())} nan"]
        said += [f"{a.dtype}{list(a.shape)} {a.tolist()}" for a in (half, flags) if a is not None]
        return "; ".join(said)


class Splitter(BaseModel):
    """Arrays of two types, and what is none."""

    x: NDArray[np.float32]
    parts: list[list[float]]
    name: str


class Echo(BaseRunner):
    """Returns arrays: as they came, within a list, and as large ones."""

    def run(self, x: np.ndarray, times: int = 1) -> Splitter:
        return Splitter(x=np.repeat(x, times), parts=[x.astype(np.int16), x], name="echo")


class Raw(BaseRunner):
    """Returns its array, transposed."""

    async def run(self, x: np.ndarray) -> np.ndarray:
        return x.T


class Writer(BaseRunner):
    """Repeats a text."""

    def run(self, text: str, n: int = 2) -> ConcatenateIterator[str]:
        if text == "bad":
            raise ValueError("no such text")
        for i in range(n):
            yield text + str(i)


class Lister(BaseRunner):
    """Returns arrays one by one."""

    def run(self, x: np.ndarray) -> list[np.ndarray]:
        return (row for row in x)


class Batched(BaseRunner):
    """Adds one to the arrays of a batch."""

    @batch(max_size=8)
    def run(self, x: list[NDArray[np.float32]]) -> list[np.ndarray]:
        return [one + 1 for one in x]


class Numbers(BaseRunner):
    """Says what numbers and lists of arrays it got."""

    def run(
        self,
        f: float = 0,
        above: float = Input(default=1, ge=0),
        floats: Optional[list[float]] = None,
        arrays: Optional[list[NDArray[np.float32]]] = None,
    ) -> str:
        said = [repr(f)] + [repr(above)] * (above != 1) + [repr(floats)] * (floats is not None)
        said += [f"{type(a).__name__} {a.dtype} {a.tolist()}" for a in arrays or []]
        return "; ".join(said)


class Typed(BaseRunner):
    """Returns its array, whose dtype and dimensions are declared."""

    def run(self, x: Vector) -> Vector:
        return x


class Keeper(BaseRunner):
    """Adds one to an array, in it, and keeps both: no other request may change them."""

    def setup(self) -> None:
        self.kept: list[tuple[NDArray[np.float32], float]] = []

    def run(self, x: NDArray[np.float32], do: str = "") -> NDArray[np.float32]:
        if do == "crash":
            os._exit(3)
        if do == "wait":
            print("waiting", flush=True)
            time.sleep(60)
        for array, total in self.kept:
            if float(array.sum()) != total:
                raise ValueError("an array that the model keeps was changed")
        x += 1
        out = x * 2
        self.kept = [*self.kept[-8:], (x, float(x.sum())), (out, float(out.sum()))]
        return out


class Same(BaseRunner):
    """Returns its number."""

    def run(self, f: float) -> float:
        return f


class SameBatched(BaseRunner):
    """Returns its numbers."""

    @batch(max_size=8)
    def run(self, f: list[float]) -> list[float]:
        return f


class Steps(BaseRunner):
    """Yields its numbers, and an array."""

    def run(self, floats: list[float]) -> Iterator[float]:
        yield from floats


class AsyncSteps(BaseRunner):
    """Yields arrays of its numbers."""

    async def run(self, floats: list[float]) -> AsyncIterator[NDArray[np.float32]]:
        for number in floats:
            yield np.array([number, 1], np.float32)


class Part(BaseModel):
    """An array, and a list."""

    x: np.ndarray
    seen: list[int]


class Reused(BaseRunner):
    """Yields one array again and again, after it has written to it."""

    def run(self, n: int = 3) -> Iterator[NDArray[np.float32]]:
        x = np.zeros(2, np.float32)
        for _ in range(n):
            x += 1
            yield x


class AsyncReused(BaseRunner):
    """Yields an object again and again, after it has written to its array and list."""

    async def run(self, n: int = 3) -> AsyncIterator[Part]:
        part = Part(x=np.zeros(2, np.float32), seen=[])
        for i in range(n):
            part.x += 1
            part.seen.append(i)
            yield part


class Found(BaseModel):
    """A number, a list with it, and what is not a tensor."""

    number: float
    numbers: list[float]
    named: dict[str, float]


class Members(BaseRunner):
    """Returns its number in an object."""

    async def run(self, f: float, named: float = 0) -> Found:
        return Found(number=f, numbers=[1, f], named={"f": named})
