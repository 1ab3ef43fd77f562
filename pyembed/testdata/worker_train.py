"""The train function, beside a predict function of either kind and alone."""

from __future__ import annotations

import itertools
import os
import sys
import tempfile

from front import CANCELED, EVENTS, FAILED, METRIC, OUTPUT, STARTED, SUCCEEDED, TRAIN, Worker, kinds, main, outputs

PREDICT = """
    def run(n: int) -> int:
        return n + 1
"""
SYNC = """
    import time
    from pathlib import Path as FilePath
    from collections.abc import Iterator
    from cog import BaseModel, CancelationException, Input, Path, current_scope

    class Result(BaseModel):
        weights: Path
        loss: float

    def train(steps: int = Input(ge=1), scale: float = 1.0, mark: str = "") -> Result:
        current_scope().record_metric("steps", steps)
        if mark:
            try:
                print("waiting", flush=True)
                time.sleep(600)
            except CancelationException:
                FilePath(mark).write_text("canceled")
                raise
        assert type(scale) is float
        FilePath("weights.bin").write_bytes(b"w" * steps)
        return Result(weights=Path("weights.bin"), loss=scale)

    def stream(steps: int, mark: str = "") -> Iterator[int]:
        try:
            for i in range(steps):
                yield i
                if mark:
                    print("waiting", flush=True)
                    time.sleep(600)
        except CancelationException:
            FilePath(mark).write_text("canceled")
            raise
"""
ASYNC = (
    SYNC.replace("import time", "import asyncio").replace("    def ", "    async def ")
    .replace("time.sleep", "await asyncio.sleep")
    .replace("CancelationException:", "asyncio.CancelledError:")
    .replace("Iterator", "AsyncIterator")
)


def each_pair(test):
    def run():
        for predict, train in itertools.product((PREDICT, PREDICT.replace("def", "async def")), (SYNC, ASYNC)):
            test(predict, train)

    return run


@each_pair
def test_training(predict, train):
    with Worker(predict, train="learn.py:train", learn=train) as worker:
        assert worker.loaded["train"] is True
        assert worker.loaded["predict"] is True
        schemas = worker.loaded["schema"]["components"]["schemas"]
        assert list(schemas["TrainingInput"]["properties"]) == ["steps", "scale", "mark"]
        assert list(schemas["Input"]["properties"]) == ["n"]
        assert worker.run({"n": 1}, flags=0)[-1].value["output"] == 2
        for flags in (TRAIN, TRAIN | EVENTS):
            frames = worker.run({"steps": 3, "scale": 2}, flags=flags)
            assert frames[-1].kind == SUCCEEDED, frames
            output = frames[-1].value["output"]
            assert output == {"weights": "data:application/octet-stream;base64,d3d3", "loss": 2.0}
        assert kinds(frames) == [STARTED, METRIC, SUCCEEDED]
        os.mkdir(worker.root + "/up")
        files = {"folder": worker.root + "/up", "token": "t"}
        frames = worker.run({"steps": 3}, flags=TRAIN | EVENTS, files=files)
        assert frames[-1].value["output"]["weights"] == "pinion-file:t:0/weights.bin"
        assert worker.run({"n": 1})[-1].value["output"] == 2


@each_pair
def test_cancel(predict, train):
    with Worker(predict, train="learn.py:train", learn=train) as worker:
        mark = tempfile.mktemp(dir=worker.root)
        id = worker.submit({"steps": 1, "mark": mark}, flags=TRAIN | EVENTS)
        frames = worker.frames(id)
        assert [next(frames).kind for _ in range(2)] == [STARTED, METRIC]
        for frame in frames:  # the mark of what it printed
            worker.cancel(id)
            break
        *_, last = frames
        assert last.kind == CANCELED, last
        with open(mark) as file:
            assert file.read() == "canceled"
        assert worker.run({"n": 1})[-1].value["output"] == 2


@each_pair
def test_stream(predict, train):
    with Worker(predict, train="learn.py:stream", learn=train) as worker:
        frames = worker.run({"steps": 3}, flags=TRAIN | EVENTS)
        assert kinds(frames) == [STARTED, OUTPUT, OUTPUT, OUTPUT, SUCCEEDED], frames
        assert outputs(frames) == [0, 1, 2]
        assert worker.run({"steps": 3}, flags=TRAIN)[-1].value["output"] == [0, 1, 2]
        mark = tempfile.mktemp(dir=worker.root)
        id = worker.submit({"steps": 3, "mark": mark}, flags=TRAIN | EVENTS)
        frames = worker.frames(id)
        assert [next(frames).kind for _ in range(2)] == [STARTED, OUTPUT]
        for frame in frames:  # the mark of what it printed: it waits, in its own code
            worker.cancel(id)
            break
        *_, last = frames
        assert last.kind == CANCELED, last
        with open(mark) as file:
            assert file.read() == "canceled"
        assert worker.run({"n": 1})[-1].value["output"] == 2


def test_alone():
    source = """
        class Trainer:
            def setup(self) -> None:
                self.base = 40
            def train(self, n: int) -> int:
                return self.base + n
            def healthcheck(self) -> bool:
                return self.base == 40
    """
    for text in (source, source.replace("def train", "async def train")):
        with Worker("raise SystemError", train="learn.py:Trainer", mode="train", learn=text) as worker:
            loaded = worker.loaded
            assert (loaded["train"], loaded["predict"], loaded["streaming"]) == (True, False, False)
            assert "Input" not in loaded["schema"]["components"]["schemas"]
            assert worker.run({"n": 2}, flags=TRAIN)[-1].value["output"] == 42
            assert worker.health() == {"ok": True}


def test_no_train_function():
    for source in (PREDICT, PREDICT.replace("def", "async def")):
        with Worker(source) as worker:
            assert worker.loaded["train"] is False
            frames = worker.run({"n": 2}, flags=TRAIN)
            assert kinds(frames) == [FAILED]
            assert worker.run({"n": 2}, flags=0)[-1].value["output"] == 3


if __name__ == "__main__":
    main(sys.modules[__name__])
