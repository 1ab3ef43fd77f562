"""What the front is told of a prediction as it happens."""

from __future__ import annotations

import sys
import tempfile

from front import CANCELED, FAILED, LOG_MARK, METRIC, OUTPUT, STARTED, SUCCEEDED, Worker, kinds, main, outputs

GENERATOR = """
    from collections.abc import Iterator
    from pathlib import Path
    import time, subprocess, os, ctypes, sys
    from cog import BaseRunner, ConcatenateIterator, CancelationException, current_scope

    class Runner(BaseRunner):
        def run(self, n: int, how: str = "", path: str = "") -> Iterator[str]:
            mark = Path(path) if path else None
            try:
                for i in range(n):
                    if how == "print":
                        print("before", i)
                    if how == "begun":
                        print("begun", i, end="")
                    if how == "system":
                        subprocess.run(["echo", "before", str(i)])
                    if how == "printf":
                        ctypes.CDLL(None).printf(b"before %d\\n", i)
                    if how == "raise" and i == 2:
                        raise ValueError("no more")
                    if how == "metric":
                        current_scope().record_metric("a.b", i, "incr")
                    if how == "nan" and i == 3:
                        yield {"mask": float("nan")}
                    yield str(i)
                    if how == "compute":
                        while True:
                            pass
                    if how == "sleep":
                        time.sleep(600)
                while how == "then compute":
                    pass
            except CancelationException:
                mark.write_text("seen")
                raise
            finally:
                if mark and how != "compute" and how != "sleep" and how != "endless":
                    mark.write_text("ended")
"""
ASYNC = (
    GENERATOR.replace("import Iterator", "import AsyncIterator as Iterator")
    .replace("        def run", "        async def run")
    .replace("import time,", "import asyncio, time,")
    .replace("CancelationException:", "asyncio.CancelledError:")
    .replace("time.sleep(600)", "await asyncio.sleep(600)")
)


def each(test):
    """Run a test with a sync and with an async model, which differ in nothing else."""

    def run():
        for source in (GENERATOR, ASYNC):
            with Worker(source) as worker:
                test(worker)

    return run


@each
def test_items(worker):
    frames = worker.run({"n": 3})
    assert kinds(frames) == [STARTED, OUTPUT, OUTPUT, OUTPUT, SUCCEEDED], frames
    assert frames[0].body == b""
    assert outputs(frames) == ["0", "1", "2"]
    assert list(frames[-1].value) == ["metrics"]


@each
def test_nothing_without_the_flag(worker):
    frames = worker.run({"n": 3}, flags=0)
    assert kinds(frames) == [SUCCEEDED]
    assert frames[-1].value["output"] == ["0", "1", "2"]


@each
def test_no_items(worker):
    assert kinds(worker.run({"n": 0})) == [STARTED, SUCCEEDED]


@each
def test_many(worker):
    frames = worker.run({"n": 100000})
    assert outputs(frames) == [str(i) for i in range(100000)]


@each
def test_each_leaves_at_once(worker):
    # After an item it computes until it is canceled, so the item must arrive before.
    for how in ("compute", "sleep"):
        for n in (1, 2, 5):
            path = tempfile.mktemp(dir=worker.root)
            id = worker.submit({"n": n, "how": how, "path": path})
            frames = worker.frames(id)
            assert next(frames).kind == STARTED
            assert next(frames).kind == OUTPUT
            worker.cancel(id)
            assert kinds(frames) == [CANCELED]
            with open(path) as file:
                assert file.read() == "seen"


@each
def test_the_last_of_many_leaves_at_once_too(worker):
    # They come so fast that they share writes; then the model computes for ever, without a system call.
    for n in (10, 33, 100, 5000):
        path = tempfile.mktemp(dir=worker.root)
        id = worker.submit({"n": n, "how": "then compute", "path": path})
        frames = worker.frames(id)
        assert next(frames).kind == STARTED
        for i in range(n):
            assert next(frames).value == str(i)
        worker.cancel(id)
        assert kinds(frames) == [CANCELED]


@each
def test_cancel_of_one_that_never_waits(worker):
    path = tempfile.mktemp(dir=worker.root)
    id = worker.submit({"n": 10**12, "how": "endless", "path": path})
    frames = worker.frames(id)
    for _ in range(1000):
        next(frames)
    worker.cancel(id)
    for frame in frames:
        pass
    assert frame.kind == CANCELED
    with open(path) as file:
        assert file.read() == "seen"


@each
def test_cancels_at_any_moment(worker):
    # Each hits its own prediction or none, and each prediction has one end.
    ends = {CANCELED: 0, SUCCEEDED: 0}
    for i in range(300):
        id = worker.submit({"n": 2000, "path": f"{worker.root}/mark"})
        frames = worker.frames(id)
        for _ in range(1 + i * 7 % 2000):
            next(frames)
        worker.cancel(id)
        *_, last = frames
        ends[last.kind] += 1
        if i % 10 == 0:
            assert outputs(worker.run({"n": 50})) == [str(j) for j in range(50)]
    assert ends[CANCELED] > 0, ends


@each
def test_exception(worker):
    frames = worker.run({"n": 5, "how": "raise"})
    assert kinds(frames) == [STARTED, OUTPUT, OUTPUT, FAILED]
    assert frames[-1].value["error"] == "ValueError: no more"
    assert "ValueError: no more" in worker.drain()[1]


@each
def test_item_that_cannot_be_encoded(worker):
    path = tempfile.mktemp(dir=worker.root)
    frames = worker.run({"n": 5, "how": "nan", "path": path})
    assert kinds(frames) == [STARTED, OUTPUT, OUTPUT, OUTPUT, FAILED]
    error = frames[-1].value["error"]
    assert error == "cog.errors.OutputError: output[3].mask is nan, which JSON cannot hold", error
    with open(path) as file:
        assert file.read() == "ended"


@each
def test_metrics(worker):
    frames = worker.run({"n": 2, "how": "metric"})
    assert kinds(frames) == [STARTED, METRIC, OUTPUT, METRIC, OUTPUT, SUCCEEDED]
    values = [f.value for f in frames if f.kind == METRIC]
    assert values == [{"name": "a.b", "value": i, "mode": "increment"} for i in (0, 1)]
    assert frames[-1].value["metrics"]["a"] == {"b": 1}
    assert kinds(worker.run({"n": 1, "how": "metric"}, flags=0)) == [SUCCEEDED]


@each
def test_text_comes_before_its_item(worker):
    lengths = {"print": len("before 0\n"), "begun": len("begun 0"), "printf": len("before 0\n")}
    lengths["system"] = lengths["print"]
    at = 0
    for how, length in lengths.items():
        position, seen = at, 0
        for frame in worker.run({"n": 5, "how": how}):
            if frame.kind == LOG_MARK:
                position = frame.value["stdout"]
            if frame.kind == OUTPUT:
                seen += 1
                assert position == at + seen * length, (how, seen, position - at)
        at = position
        worker.drain()


def test_iterators_in_c():
    source = """
        import itertools
        from collections.abc import Iterator
        def run(n: int) -> Iterator[int]:
            return itertools.count() if n < 0 else iter(range(n))
    """
    with Worker(source) as worker:
        assert outputs(worker.run({"n": 3})) == [0, 1, 2]
        id = worker.submit({"n": -1})
        frames = worker.frames(id)
        for _ in range(100):
            next(frames)
        worker.cancel(id)
        *_, last = frames
        assert last.kind == CANCELED
        assert outputs(worker.run({"n": 3})) == [0, 1, 2]


def test_output_that_is_no_iterator():
    source = """
        from cog import current_scope
        def run(n: int) -> list[int]:
            current_scope().record_metric("n", n)
            return list(range(n))
    """
    with Worker(source) as worker:
        frames = worker.run({"n": 3})
        assert kinds(frames) == [STARTED, METRIC, SUCCEEDED]
        assert frames[-1].value["output"] == [0, 1, 2]
    source = source.replace("def run", "async def run")
    with Worker(source) as worker:
        frames = worker.run({"n": 3})
        assert kinds(frames) == [STARTED, METRIC, SUCCEEDED]
        assert frames[-1].value["output"] == [0, 1, 2]


def test_large_items():
    source = """
        from collections.abc import Iterator
        def run(sizes: list[int]) -> Iterator[str]:
            for size in sizes:
                yield "x" * size
    """
    sizes = [1, 70 << 10, 2 << 20, 17 << 20, 1, 300 << 10, 1 << 20]
    with Worker(source) as worker:
        assert [len(item) for item in outputs(worker.run({"sizes": sizes}))] == sizes


def test_several_at_once():
    source = """
        import asyncio
        from collections.abc import AsyncIterator
        from cog import BaseRunner, concurrent
        class Runner(BaseRunner):
            @concurrent(max=4)
            async def run(self, n: int) -> AsyncIterator[str]:
                for i in range(n):
                    print("before", i, end=";")
                    yield f"{n}-{i}"
                    await asyncio.sleep(0)
    """
    with Worker(source, slots=4) as worker:
        assert worker.loaded["slots"] == 4
        ids = [worker.submit({"n": 50 + slot}, slot) for slot in range(4)]
        for slot, id in enumerate(ids):
            n = 50 + slot
            text = ""
            seen = 0
            for frame in worker.frames(id, slot):
                if frame.kind == 19:
                    text += frame.value["data"]
                if frame.kind == OUTPUT:
                    assert frame.value == f"{n}-{seen}"
                    seen += 1
                    assert text == "".join(f"before {i};" for i in range(seen))
            assert seen == n


def test_async_function_that_returns_an_iterator():
    source = """
        from collections.abc import AsyncIterator
        async def items(n):
            for i in range(n):
                yield i
        async def run(n: int) -> AsyncIterator[int]:
            return items(n)
    """
    with Worker(source) as worker:
        assert outputs(worker.run({"n": 3})) == [0, 1, 2]
        assert worker.run({"n": 3}, flags=0)[-1].value["output"] == [0, 1, 2]


def test_metric_after_the_end():
    source = """
        import threading, contextvars
        from cog import current_scope
        threads = []
        def late(scope, go):
            go.wait()
            for i in range(1000):
                scope.record_metric("late", i)
        def run() -> int:
            go = threading.Event()
            thread = threading.Thread(target=late, args=(current_scope(), go))
            thread.start()
            threads.append(thread)
            go.set()
            return 1
    """
    with Worker(source) as worker:
        for _ in range(20):
            frames = worker.run({})
            assert frames[-1].kind == SUCCEEDED
            assert kinds(frames)[0] == STARTED


def test_contexts_of_scopes():
    """A scope is used again, its context is not; a scope that the model keeps has its own for ever."""
    source = """
        from cog import current_scope
        kept = []
        def run(keep: bool = False) -> list:
            if keep:
                kept.append(current_scope())
            return [scope.context.get("n") for scope in [*kept, current_scope()]]
    """
    with Worker(source) as worker:
        for context, keep, want in [
            ({"n": "1"}, False, ["1"]),
            (None, False, [None]),
            ({"n": "2"}, True, ["2", "2"]),
            ({"n": "3"}, False, ["2", "3"]),
            (None, True, ["2", None, None]),
            ({"n": "4"}, False, ["2", None, "4"]),
            (None, False, ["2", None, None]),
        ]:
            more = {} if context is None else {"context": context}
            frames = worker.run({"keep": keep}, flags=0, **more)
            assert frames[-1].value["output"] == want, (context, keep, frames[-1].value)


def test_what_is_loaded():
    with Worker(GENERATOR) as worker:
        loaded = worker.loaded
        found = {name: loaded[name] for name in ("streaming", "healthcheck", "train", "predict")}
        assert found == {"streaming": True, "healthcheck": False, "train": False, "predict": True}
        assert loaded["function"].endswith("run"), loaded["function"]
    with Worker(GENERATOR.replace("Iterator[str]", "str").replace("yield", "return")) as worker:
        assert worker.loaded["streaming"] is False


if __name__ == "__main__":
    main(sys.modules[__name__])
