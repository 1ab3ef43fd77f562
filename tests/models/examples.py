"""Models that give an example of their inputs; each says how often it ran, and with what."""

from collections.abc import AsyncIterator, Iterator

import cog
import numpy as np
from cog import BaseModel, BaseRunner, Input, Path
from numpy.typing import NDArray


class Output(BaseModel):
    runs: int
    text: str


class Counting(BaseRunner):
    def setup(self) -> None:
        print("set up")
        self.runs = 0

    def count(self, text: str) -> Output:
        self.runs += 1
        print("run with", text)
        cog.current_scope().record_metric("runs", self.runs)
        if text == "fail":
            raise ValueError("it cannot do this")
        return Output(runs=self.runs, text=text)


class Sync(Counting):
    @cog.example(text="example")
    def run(self, text: str, upper: bool = Input(default=False)) -> Output:
        return self.count(text)


class Async(Counting):
    @cog.concurrent(max=2)
    @cog.example(text="example")
    async def run(self, text: str) -> Output:
        return self.count(text)


class Generator(Counting):
    @cog.example(text="example")
    @cog.streaming
    def run(self, text: str) -> Iterator[Output]:
        yield self.count(text)


class AsyncGenerator(Counting):
    @cog.example(text="example")
    @cog.streaming
    async def run(self, text: str) -> AsyncIterator[Output]:
        yield self.count(text)


class Batch(Counting):
    @cog.example(text="example")
    @cog.batch(max_size=4)
    def run(self, text: list[str]) -> list[Output]:
        return [self.count(one) for one in text]


class AsyncBatch(Counting):
    @cog.batch(max_size=4)
    @cog.example(text="example")
    async def run(self, text: list[str]) -> list[Output]:
        return [self.count(one) for one in text]


class Prepared(Counting):
    def preprocess(self, text: str) -> str:
        return text + "!"

    @cog.example(text="example")
    @cog.batch(max_size=4)
    def run(self, items: list) -> list:
        return [self.count(item.removesuffix("!")) for item in items]

    def postprocess(self, output: Output) -> Output:
        return output


class Failing(Counting):
    @cog.example(text="fail")
    def run(self, text: str) -> Output:
        return self.count(text)


class FromFile(Counting):
    """Its example is in cog_example.json."""

    def run(self, text: str) -> Output:
        return self.count(text)


class Values(BaseRunner):
    @cog.example(file="note.txt", array=np.array([1.0, 2.5]), many=["note.txt"])
    def run(self, file: Path, array: NDArray[np.float64], many: list[Path]) -> Path:
        print("run with", file.read_text().strip(), array.sum(), len(many))
        return file


class Ailing(Counting):
    @cog.example(text="example")
    def run(self, text: str) -> Output:
        out = self.count(text)
        if self.runs > 2:
            raise RuntimeError("the device is lost")
        return out


class Unknown(Counting):
    @cog.example(txt="example")
    def run(self, text: str) -> Output:
        return self.count(text)


class Wrong(Counting):
    @cog.example(text=5)
    def run(self, text: str) -> Output:
        return self.count(text)


class Missing(BaseRunner):
    @cog.example(file="nowhere.txt")
    def run(self, file: Path) -> str:
        return file.read_text()


class Secret(BaseRunner):
    @cog.example(token="abc")
    def run(self, token: cog.Secret) -> str:
        return "text"
