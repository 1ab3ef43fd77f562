"""Batches of a synchronous and of an async function, which differ in nothing else."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from batch_front import BATCH_DONE, BatchWorker, Result
from batch_model import SOURCES, each, of
from front import CANCELED, EVENTS, FAILED, LOG_MARK, METRIC, STARTED, SUCCEEDED, TRAIN, eventually, main


@each
def test_loaded(worker):
    assert worker.loaded["batch"] == {
        "max_size": 32, "max_wait_ms": None, "isolate": True, "keys": ["how"], "prepare": False,
    }
    schema = worker.loaded["schema"]["components"]["schemas"]
    assert schema["Input"]["properties"]["n"]["type"] == "integer"
    assert schema["Output"]["type"] == "integer"
    assert worker.loaded["slots"] == 1


@each
def test_batch(worker):
    for numbers in ((1, 2, 3), (5,), range(32)):
        batch = worker.run_batch(of(*numbers))
        assert batch.outputs == [n + 1 for n in numbers]
        assert batch.done == {"runs": 1, "size": len(numbers), "failed": False}
        assert batch.frames[0].kind == BATCH_DONE, "it comes before the answers"
        assert {end.nanos for end in batch.ends} == {batch.nanos}
        assert batch.nanos > 0
        for metrics in batch.metrics:
            assert list(metrics) == ["predict_time", "batch_size"]
            assert metrics["batch_size"] == len(numbers)


@each
def test_results(worker):
    assert worker.run_batch(of(1, 2, how="tuple")).outputs == [1, 2]
    for how, said in (("short", "output must have 3 elements, got 2"), ("none", "got None"), ("str", "got str")):
        batch = worker.run_batch(of(1, 2, 3, how=how))
        assert batch.kinds == [FAILED] * 3
        assert all(said in error for error in batch.errors), batch.errors
        assert batch.done == {"runs": 1, "size": 3, "failed": True}


@each
def test_one_bad_item(worker):
    numbers = list(range(10, 17))
    for how in ("raise", "element", "encode"):
        batch = worker.run_batch(of(*numbers, how=how))
        assert batch.kinds == [FAILED if n == 13 else SUCCEEDED for n in numbers], how
        (error,) = (e for e in batch.errors if e)
        wanted = {"raise": "ValueError: 13 is not a number", "element": "ValueError: not 13"}
        assert wanted.get(how, "cog.errors.OutputError: output is of type object") in error, error
        assert batch.done["failed"] is (how == "raise")
        assert (batch.done["runs"] > 1) is (how == "raise")
        assert all(m["batch_size"] == 7 for m in batch.metrics)
        for id, n in zip(batch.ids, numbers, strict=True):
            assert ("Error" in batch.logs(id)) is (n == 13)
    worker.drain()


@each
def test_isolation_runs_again_only_what_failed(worker):
    batch = worker.run_batch(of(*range(8, 16), how="raise"))
    # 8 raise, then 4, 4, 2, 2, 1, 1: the halves without 13 are not cut further.
    assert batch.done["runs"] == 7, batch.done
    assert batch.kinds.count(FAILED) == 1
    seen = worker.run_batch(of(1, how="seen")).outputs[0]
    assert seen == [8, 4, 4, 2, 1, 1, 2, 1], seen


@each
def test_all_fail(worker):
    batch = worker.run_batch(of(1, 2, how="all"))
    assert batch.kinds == [FAILED, FAILED]
    assert batch.errors == ["ValueError: never"] * 2
    batch = worker.run_batch(of(1, 2, how="exit"))
    assert batch.kinds == [FAILED, FAILED]
    assert batch.errors == ["SystemExit: 3"] * 2
    assert batch.done["runs"] == 1
    assert worker.run_batch(of(1)).outputs == [2]


def test_without_isolation():
    for source in SOURCES:
        with BatchWorker(source.replace("max_size=32", "max_size=32, isolate=False")) as worker:
            batch = worker.run_batch(of(12, 13, 14, how="raise"))
            assert batch.errors == ["ValueError: 13 is not a number"] * 3
            assert batch.done == {"runs": 1, "size": 3, "failed": True}
            mark = batch.marks()[-1]
            assert mark.id == batch.id
            assert worker.drain()[1].count("Traceback") == 1


def test_a_lost_gpu_is_not_asked_again():
    for source in SOURCES:
        with BatchWorker(source, config={"gpu_lost": ["illegal memory access"]}) as worker:
            batch = worker.run_batch(of(1, 2, 3, 4, how="lost"))
            assert batch.done == {"runs": 1, "size": 4, "failed": True}
            assert all("illegal memory access" in error for error in batch.errors)
        with BatchWorker(source) as worker:
            assert worker.run_batch(of(1, 2, 3, 4, how="lost")).done["runs"] == 7


@each
def test_logs_and_metrics_of_the_batch(worker):
    batch = worker.run_batch(of(1, 2, how="print"))
    (mark,) = batch.marks()
    assert mark.id == batch.id
    assert mark.value["stdout"] == len("together 2\n")
    assert batch.frames.index(mark) < batch.frames.index(next(f for f in batch.frames if f.kind == BATCH_DONE))
    worker.drain()
    batch = worker.run_batch(of(1, 2, how="metric"))
    assert [m["tokens"] for m in batch.metrics] == [3, 3]
    ids = [worker.hold(of(4, how="metric")[0], flags=f) for f in (EVENTS, 0)]
    batch = Result(worker, ids, worker.send_batch(ids))
    told = [(f.kind, f.id) for f in batch.frames if f.kind in (STARTED, METRIC)]
    assert told == [(STARTED, ids[0]), (METRIC, ids[0])]
    assert list(batch.metrics[1]) == ["predict_time", "batch_size", "tokens"]


@each
def test_input_that_cannot_be_converted(worker):
    ids = [worker.hold({"n": 1}), worker.hold({}), worker.hold({"n": 3})]
    batch = Result(worker, ids, worker.send_batch(ids))
    assert batch.kinds == [SUCCEEDED, FAILED, SUCCEEDED]
    assert batch.done == {"runs": 1, "size": 2, "failed": False}
    assert [m.get("batch_size") for m in batch.metrics] == [2, 2, 2]


@each
def test_no_item_can_run(worker):
    ids = [worker.hold({}), worker.hold({})]
    batch = Result(worker, ids, worker.send_batch(ids))
    assert batch.kinds == [FAILED, FAILED]
    assert batch.done == {"runs": 0, "size": 0, "failed": False}


@each
def test_revoked_batch(worker):
    ids = [worker.hold({"n": 1}), worker.hold({"n": 2})]
    worker.send_batch(ids, state=3)
    assert [f.kind for f in worker.ends(ids)] == [CANCELED, CANCELED]
    assert worker.run_batch(of(1)).outputs == [2]


@each
def test_answers_do_not_wait_for_one_that_is_long_in_the_making(worker):
    fifos = fifos_of(worker, 13)
    with worker.slots[0].together():
        ids = [worker.hold(i) for i in of(1, 13, 2, how=f"later {worker.root}/")]
        worker.send_batch(ids)
    frames = worker.ends(ids[:1])
    assert [(f.kind, f.id) for f in frames[-2:]] == [(BATCH_DONE, frames[-2].id), (SUCCEEDED, ids[0])]
    fifos[0].write_text("")  # which it waits for
    assert [f.value["output"] for f in worker.ends(ids[1:])] == [[""], 2]


@each
def test_answers_do_not_wait_after_a_first_that_is_long_in_the_making(worker):
    fifos = fifos_of(worker, 13, 14)
    with worker.slots[0].together():
        ids = [worker.hold(i) for i in of(13, 14, how=f"later {worker.root}/")]
        worker.send_batch(ids)
    while worker.slots[0].frame().kind != BATCH_DONE:
        pass
    for id, fifo in zip(ids, fifos):
        fifo.write_text("")  # the next one waits
        assert [f.value["output"] for f in worker.ends([id])] == [[""]]


def fifos_of(worker, *names):
    fifos = [Path(worker.root, str(name)) for name in names]
    for fifo in fifos:
        os.mkfifo(fifo)
    return fifos


@each
def test_the_usual_and_the_unusual_keep_their_order(worker):
    gate = Path(worker.root, "gate")
    ids = [worker.hold({"n": 1, "how": str(gate)})]
    batches = [(ids, worker.send_batch(ids))]
    eventually(lambda: worker.is_running(batches[0][1]))
    for flags, inputs in (
        (0, of(1, 2)),
        (EVENTS, of(3)),
        (0, of(4, how="metric") + of(5, how="metric")),
        (0, of(6, 13, how="element")),
        (0, of(7) + of(8, how="")),  # what is absent is the default
        (0, of(9) + of(10, how="tuple")),  # which no front sends: the function is called twice
    ):
        ids = [worker.hold(each, flags=flags) for each in inputs]
        batches.append((ids, worker.send_batch(ids)))
    gate.touch()
    results = [Result(worker, ids, batch) for ids, batch in batches]
    outputs = [r.outputs for r in results]
    assert outputs == [[2], [2, 3], [4], [5, 6], [6, None], [8, 9], [10, 10]], outputs
    assert results[4].errors == [None, "ValueError: not 13"], results[4].errors
    assert [r.done["runs"] for r in results] == [1, 1, 1, 1, 1, 1, 2]
    assert [m["tokens"] for m in results[3].metrics] == [9, 9]


@each
def test_nothing_is_kept(worker):
    def some():
        for _ in range(20):
            worker.run_batch(of(*range(8)))
            worker.run_batch(of(1, 2, how="metric"))
            worker.run_batch(of(1, 13, 2, how="raise"))
            worker.run_batch(of(1, 13, 2, how="element"))
            worker.run_batch(of(1, 13, 2, how="encode"))
            worker.run_batch(of(1, 2, how="short"))
            worker.run_batch(of(3), flags=EVENTS)
            ids = [worker.hold({"n": 1}), worker.hold({})]
            worker.send_batch(ids, state=3)
            worker.ends(ids)
        return worker.run_batch(of(1, how="blocks")).outputs[0]

    kept = [some()]
    while len(kept) < 2 or kept[-1] - kept[-2] >= 100:  # caches fill; what leaks would never end
        kept.append(some())
        assert len(kept) < 12, f"blocks after every 160 batches: {kept}"


def test_inputs_are_made_what_the_function_takes():
    with BatchWorker(
        """
        from cog import BaseRunner, Path, batch

        class Runner(BaseRunner):
            @batch(max_size=4)
            def run(self, x: list[float], p: list[Path], k: int = 2, z: float = 1) -> list[str]:
                kinds = [type(v).__name__ for v in (*x, *p, k, z)]
                return [" ".join(kinds)] * len(x)
        """
    ) as worker:
        batch = worker.run_batch([{"x": 1, "p": "/a"}, {"x": 2.5, "p": "/b", "k": 2}])
        assert batch.outputs == ["float float Path Path int float"] * 2
        assert batch.done["runs"] == 1


@each
def test_a_child_that_comes_back_leaves(worker):
    assert worker.run_batch(of(1, 2, how="fork")).outputs == [2, 3]
    assert worker.run_batch(of(1)).outputs == [2]


def test_death():
    for source in SOURCES:
        worker = BatchWorker(source)
        ids = [worker.hold(i) for i in of(1, 2, how="die")]
        batch = worker.send_batch(ids)
        frame = worker.slots[0].frame()
        while frame is not None and frame.kind == LOG_MARK:
            frame = worker.slots[0].frame()
        assert frame is None, frame
        assert worker.process.wait() == 7
        assert worker.is_running(batch)


def test_batches_that_wait_for_each_other():
    for source in SOURCES:
        with BatchWorker(source) as worker:
            batches = []
            for i in range(10):
                ids = [worker.hold({"n": n}) for n in range(i + 1)]
                batches.append((ids, worker.send_batch(ids)))
            for ids, batch in batches:
                assert Result(worker, ids, batch).outputs == [n + 1 for n in range(len(ids))]


def test_train_beside_it():
    learn = """
        from cog import current_scope
        def train(steps: int) -> str:
            current_scope().record_metric("steps", steps)
            return "w" * steps
    """
    for source in SOURCES:
        for text in (learn, learn.replace("def train", "async def train")):
            with BatchWorker(source, train="learn.py:train", learn=text) as worker:
                frames = worker.run({"steps": 3}, flags=TRAIN | EVENTS)
                assert [f.kind for f in frames] == [STARTED, METRIC, SUCCEEDED]
                assert frames[-1].value["output"] == "www"
                assert worker.run_batch(of(1)).outputs == [2]


if __name__ == "__main__":
    main(sys.modules[__name__])
