"""The model's own health check."""

from __future__ import annotations

import sys
import tempfile

from front import CANCELED, LOG_MARK, STARTED, SUCCEEDED, Worker, eventually, main

MODEL = """
    import os, time
    from cog import BaseRunner

    class Runner(BaseRunner):
        state = "well"

        def run(self, state: str = "", until: str = "") -> str:
            self.state = state
            print("begin")
            while until and not os.path.exists(until):
                time.sleep(0.001)
            return state

        def healthcheck(self) -> bool:
            print("checking")
            if self.state == "raise":
                raise RuntimeError("the GPU is gone")
            if self.state == "exit":
                raise SystemExit(3)
            if self.state == "hang":
                time.sleep(600)
            if self.state == "zero":
                return 0
            return self.state == "well"
"""
ASYNC = MODEL.replace("    def run", "    async def run").replace("time.sleep(0", "await asyncio.sleep(0")
ASYNC = ASYNC.replace("import os", "import asyncio, os")
MODELS = (
    MODEL,
    MODEL.replace("    def healthcheck", "    async def healthcheck"),
    ASYNC,
    ASYNC.replace("    def healthcheck", "    async def healthcheck").replace(
        "time.sleep(600)", "await asyncio.sleep(600)"
    ),
)


def test_answers():
    for source in MODELS:
        with Worker(source) as worker:
            assert worker.loaded["healthcheck"] is True
            assert worker.health() == {"ok": True}
            worker.run({"state": "false"}, flags=0)
            answer = worker.health()
            assert answer["ok"] is False
            assert "returned False" in answer["error"]
            worker.run({"state": "raise"}, flags=0)
            answer = worker.health()
            assert answer["ok"] is False
            assert answer["error"].endswith("RuntimeError: the GPU is gone"), answer
            worker.run({"state": "exit"}, flags=0)
            assert worker.health()["ok"] is False
            worker.run({"state": "zero"}, flags=0)
            assert worker.health() == {"ok": True}
            worker.run({"state": "well"}, flags=0)
            assert worker.health() == {"ok": True}


def test_beside_a_prediction():
    for source in MODELS:
        with Worker(source) as worker:
            until = tempfile.mktemp(dir=worker.root)
            id = worker.submit({"state": "well", "until": until})
            frames = worker.frames(id)
            assert next(frames).kind == STARTED
            # Busy is not unhealthy, and what checks print is not part of the prediction's logs.
            for _ in range(3):
                assert worker.health() == {"ok": True}
            with open(until, "w"):
                pass
            position = 0
            for frame in frames:
                if frame.kind == LOG_MARK:
                    position = frame.value["stdout"]
            assert frame.kind == SUCCEEDED
            assert frame.value["output"] == "well"
            out = worker.drain()[0]
            assert "checking" not in out[:position], out
            assert worker.health() == {"ok": True}
            eventually(lambda: worker.drain()[0].count("checking") >= 4)


def test_one_that_hangs_holds_nothing_up():
    for source in MODELS:
        with Worker(source) as worker:
            worker.run({"state": "hang"}, flags=0)
            worker.control.send(50, 999, b"{}")
            for _ in range(3):
                assert worker.run({"state": "hang"}, flags=0)[-1].kind == SUCCEEDED
            until = tempfile.mktemp(dir=worker.root)
            id = worker.submit({"state": "hang", "until": until})
            frames = worker.frames(id)
            assert next(frames).kind == STARTED
            worker.cancel(id)
            *_, last = frames
            assert last.kind == CANCELED


def test_with_several_slots():
    source = ASYNC.replace(
        "        async def run", "        @__import__('cog').concurrent(max=4)\n        async def run",
    )
    with Worker(source, slots=4) as worker:
        until = tempfile.mktemp(dir=worker.root)
        ids = [worker.submit({"state": "well", "until": until}, slot) for slot in range(4)]
        assert worker.health() == {"ok": True}
        with open(until, "w"):
            pass
        for slot, id in enumerate(ids):
            frames = list(worker.frames(id, slot))
            assert frames[-1].kind == SUCCEEDED
            assert not any(b"checking" in frame.body for frame in frames)


if __name__ == "__main__":
    main(sys.modules[__name__])
