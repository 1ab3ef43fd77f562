"""Preprocess and postprocess of a batched model: beside the batch in progress, each for its item alone."""

from __future__ import annotations

import sys
import tempfile

from batch_front import BATCH_DONE, PREPARED, BatchWorker, Result
from front import CANCELED, EVENTS, FAILED, LOG, METRIC, STARTED, SUCCEEDED, eventually, main

SYNC = """
    import asyncio, os, sys, threading, time
    from cog import BaseRunner, batch, current_scope

    def sleep(seconds):
        time.sleep(seconds)

    class Runner(BaseRunner):
        def setup(self) -> None:
            self.events = {}
            self.barrier = threading.Barrier(2)

        def event(self, name):
            return self.events.setdefault(name, threading.Event())

        def preprocess(self, n: int, how: str = "", name: str = "") -> object:
            if how == "pre print":
                print("before", n)
            if how == "pre metric":
                current_scope().record_metric("before", n)
            if how == "pre raise":
                raise ValueError(f"cannot read {n}")
            if how == "pre exit":
                sys.exit(4)
            if how == "pre fork" and os.fork() > 0:
                os.wait()
            if how == "pre wait":
                open(name, "w").close()
                assert self.event(name).wait(30)
            if how == "pre set":
                self.event(name).set()
            if how == "pre meet":
                self.barrier.wait(30)
            if how == "pre thread":
                thread = threading.Thread(target=print, args=("thread", n))
                thread.start()
                thread.join()
            return {"n": n, "how": how, "name": name, "context": dict(current_scope().context)}

        @batch(max_size=8)
        def run(self, items: list) -> list:
            for item in items:
                if item["how"] == "print":
                    print("run", len(items))
                if item["how"] == "metric":
                    current_scope().record_metric("run", len(items))
                if item["how"] == "wait":
                    if item["name"]:
                        open(item["name"], "w").close()
                    while not os.path.exists(item["name"] + ".go") and not self.event("go").is_set():
                        sleep(0.001)
                    self.event("go").clear()
                if item["how"] == "raise":
                    raise ValueError("never")
            return items

        def postprocess(self, item: dict) -> dict:
            how, n = item["how"], item["n"]
            if how == "post print":
                print("after", n)
            if how == "post metric":
                current_scope().record_metric("after", n)
            if how == "post raise":
                raise ValueError(f"cannot write {n}")
            if how == "post set":
                self.event("go").set()
            if how == "post wait":
                open(item["name"], "w").close()
                assert self.event(item["name"]).wait(30)
            if how == "post object":
                return {"n": object()}
            item["same"] = item["context"] == current_scope().context
            if item["name"] and how != "wait":
                open(item["name"] + ".post", "w").close()
            return {**item, "n": n + 1}
"""
ASYNC = (
    SYNC.replace("        def run", "        async def run")
    .replace("                        sleep(0.001)", "                        await asyncio.sleep(0.001)")
)
TWO = ASYNC.replace("@batch", "@__import__('cog').concurrent(max=2)\n        @batch")


def each(test):
    """Run a test with a sync and with an async model, the last with two slots."""

    def run():
        for source in (SYNC, ASYNC, TWO):
            with BatchWorker(source, slots=0) as worker:
                test(worker)

    return run


def prepare(worker, *inputs, flags=0, **more):
    """Send items, and wait until all are prepared; return their ids."""
    ids = [worker.hold(i, flags=flags, **more) for i in inputs]
    left = set(ids)
    while left:
        frame = worker.slots[0].frame()
        assert frame is not None, (worker.process.wait(), worker.drain())
        if frame.kind in (LOG, METRIC):
            continue
        assert frame.kind == PREPARED and frame.body == b"", frame
        left.remove(frame.id)
    return ids


def run_batch(worker, *inputs, **more):
    ids = prepare(worker, *inputs, **more)
    return Result(worker, ids, worker.send_batch(ids))


def mark(worker):
    return tempfile.mktemp(dir=worker.root)


def exists(path):
    try:
        open(path).close()
    except FileNotFoundError:
        return False
    return True


@each
def test_loaded(worker):
    told = worker.loaded["batch"]
    assert (told["prepare"], told["keys"], told["max_size"]) == (True, [], 8)
    schema = worker.loaded["schema"]["components"]["schemas"]
    assert list(schema["Input"]["properties"]) == ["n", "how", "name"]
    assert schema["Output"]["type"] == "object"


@each
def test_batch(worker):
    for _ in range(20):
        result = run_batch(worker, *({"n": n} for n in range(8)))
        assert [o["n"] for o in result.outputs] == list(range(1, 9))
        assert result.done == {"runs": 1, "size": 8, "failed": False}
        assert result.frames[0].kind == BATCH_DONE
        assert {end.nanos for end in result.ends} == {result.nanos}
        assert {m["batch_size"] for m in result.metrics} == {8}


@each
def test_context(worker):
    (output,) = run_batch(worker, {"n": 1}, context={"who": "me"}).outputs
    assert output["context"] == {"who": "me"}
    assert output["same"] is True


@each
def test_errors_of_one(worker):
    for how, error in (("pre raise", "ValueError: cannot read 7"), ("pre exit", "SystemExit: 4")):
        id = worker.hold({"n": 7, "how": how})
        frames = worker.ends([id])
        assert [f.kind for f in frames] == [LOG, FAILED], frames
        assert frames[-1].value["error"] == error
        assert frames[-1].nanos > 0
        assert "batch_size" not in frames[-1].value["metrics"]
        assert "Traceback" in frames[0].value["data"]
    result = run_batch(worker, {"n": 1}, {"n": 2, "how": "post raise"}, {"n": 3})
    assert result.kinds == [SUCCEEDED, FAILED, SUCCEEDED]
    assert result.errors[1] == "ValueError: cannot write 2"
    assert [bool(result.logs(id)) for id in result.ids] == [False, True, False]
    result = run_batch(worker, {"n": 1}, {"n": 2, "how": "post object"})
    assert result.kinds == [SUCCEEDED, FAILED]
    assert "output.n is of type object" in result.errors[1]
    result = run_batch(worker, {"n": 1}, {"n": 2, "how": "raise"}, {"n": 3})
    assert result.kinds == [SUCCEEDED, FAILED, SUCCEEDED]
    assert result.done["runs"] == 5 and result.done["failed"], result.done


@each
def test_an_item_that_failed_is_left_out_of_its_batch(worker):
    good, bad = worker.hold({"n": 1}), worker.hold({"n": 2, "how": "pre raise"})
    id = worker.send_batch([good, bad])
    frames = worker.ends([good, bad])
    done = next(f for f in frames if f.kind == BATCH_DONE)
    assert done.id == id and done.value["size"] == 1
    assert sorted(f.kind for f in frames if f.kind in (SUCCEEDED, FAILED)) == [SUCCEEDED, FAILED]


@each
def test_logs(worker):
    worker.hold({"n": 1, "how": "pre print"})
    found = [worker.slots[0].frame() for _ in range(2)]
    assert [f.kind for f in found] == [LOG, PREPARED]
    assert found[0].value == {"source": "stdout", "data": "before 1\n"}
    worker.hold({"n": 3, "how": "pre thread"})
    found = [worker.slots[0].frame() for _ in range(2)]
    assert found[0].value == {"source": "stdout", "data": "thread 3\n"}
    result = run_batch(worker, {"n": 1}, {"n": 2, "how": "post print"})
    assert [result.logs(id) for id in result.ids] == ["", "after 2\n"]
    result = run_batch(worker, {"n": 1}, {"n": 2, "how": "print"})
    assert [result.logs(id) for id in result.ids] == ["", ""]
    if len(worker.slots) == 1:
        (found,) = result.marks()
        assert found.id == result.id
        assert worker.drain()[0] == "run 2\n"
    else:
        assert result.logs(result.id) == "run 2\n"


@each
def test_metrics(worker):
    result = run_batch(worker, {"n": 1, "how": "post metric"}, {"n": 2, "how": "metric"})
    assert [m.get("after") for m in result.metrics] == [1, None]
    assert [m.get("run") for m in result.metrics] == [2, 2]
    id = worker.hold({"n": 5, "how": "pre metric"}, flags=EVENTS)
    found = [worker.slots[0].frame() for _ in range(3)]
    assert [(f.kind, f.id) for f in found] == [(STARTED, id), (METRIC, id), (PREPARED, id)]
    assert found[1].value == {"name": "before", "value": 5, "mode": "replace"}
    result = Result(worker, [id], worker.send_batch([id]))
    assert [f.kind for f in result.frames] == [BATCH_DONE, SUCCEEDED]
    assert list(result.metrics[0]) == ["predict_time", "batch_size", "before"]


@each
def test_a_batch_waits_for_its_last_item(worker):
    path = mark(worker)
    ids = [worker.hold({"n": 1, "how": "pre wait", "name": path}), worker.hold({"n": 2})]
    eventually(lambda: exists(path))
    assert prepared(worker, ids[1])
    id = worker.send_batch(ids)
    other = worker.hold({"n": 3, "how": "pre set", "name": path})
    result = Result(worker, ids, id)
    assert [o["n"] for o in result.outputs] == [2, 3]
    assert PREPARED in [f.kind for f in result.frames] or prepared(worker, other)


def prepared(worker, id):
    frame = worker.slots[0].frame()
    return (frame.kind, frame.id) == (PREPARED, id)


@each
def test_preprocess_runs_beside_the_batch(worker):
    path = mark(worker)
    (id,) = prepare(worker, {"n": 1, "how": "wait", "name": path})
    first = worker.send_batch([id])
    eventually(lambda: exists(path))
    (other,) = prepare(worker, {"n": 2})  # while the function has the first
    open(path + ".go", "w").close()
    assert Result(worker, [id], first).outputs[0]["n"] == 2
    assert Result(worker, [other], worker.send_batch([other])).outputs[0]["n"] == 3


@each
def test_answers_leave_and_postprocess_runs_beside_the_next_batch(worker):
    ids = prepare(worker, {"n": 1, "how": "post set"}, {"n": 2, "how": "wait"})
    first, second = worker.send_batch(ids[:1]), worker.send_batch(ids[1:])
    # The second ends only when the postprocess of the first has run.
    assert Result(worker, ids[:1], first).outputs[0]["n"] == 2
    assert Result(worker, ids[1:], second).outputs[0]["n"] == 3


@each
def test_several_threads(worker):
    prepare(worker, {"n": 1, "how": "pre meet"}, {"n": 2, "how": "pre meet"})


@each
def test_drop(worker):
    path = mark(worker)
    id = worker.hold({"n": 1, "how": "pre wait", "name": path})
    eventually(lambda: exists(path))
    worker.drop([id])
    assert [(f.kind, f.id) for f in worker.ends([id])] == [(CANCELED, id)]
    prepare(worker, {"n": 3, "how": "pre set", "name": path})  # and no frame of the other's
    ids = prepare(worker, {"n": 1}, {"n": 2})
    worker.drop(ids)
    assert [f.kind for f in worker.ends(ids)] == [CANCELED, CANCELED]
    path = mark(worker)
    ids = prepare(worker, {"n": 1, "how": "wait", "name": path}, {"n": 2, "how": "x", "name": path})
    id = worker.send_batch(ids)
    eventually(lambda: exists(path))
    worker.drop(ids[1:])
    prepare(worker, {"n": 4})  # so that the drop has been read
    open(path + ".go", "w").close()
    result = Result(worker, ids, id)
    assert result.kinds == [SUCCEEDED, CANCELED]
    assert not exists(path + ".post")


@each
def test_cancel_of_a_batch(worker):
    path = mark(worker)
    ids = prepare(worker, {"n": 1, "how": "wait", "name": path}, {"n": 2, "how": "x", "name": path})
    id = worker.send_batch(ids)
    eventually(lambda: exists(path))
    worker.cancel(id)
    assert Result(worker, ids, id).kinds == [CANCELED, CANCELED]
    assert not exists(path + ".post")
    assert run_batch(worker, {"n": 1}).outputs[0]["n"] == 2


@each
def test_revoked(worker):
    ids = prepare(worker, {"n": 1}, {"n": 2})
    worker.send_batch(ids, state=3)
    assert [f.kind for f in worker.ends(ids)] == [CANCELED, CANCELED]
    assert run_batch(worker, {"n": 1}).outputs[0]["n"] == 2


@each
def test_a_child_that_comes_back_leaves(worker):
    assert run_batch(worker, {"n": 1, "how": "pre fork"}).outputs[0]["n"] == 2


def test_the_end_waits_for_what_is_under_way():
    for source in (SYNC, ASYNC, TWO):
        with BatchWorker(source, slots=0) as worker:
            path = mark(worker)
            ids = prepare(worker, {"n": 1, "how": "post wait", "name": path})
            id = worker.send_batch(ids)
            eventually(lambda: exists(path))  # noqa: B023, it is called at once
            late = [worker.hold({"n": 2, "how": "pre set", "name": path}), worker.hold({"n": 3})]
            other = worker.send_batch(late)
            worker.stop()
            frames = []
            while (frame := worker.slots[0].frame()) is not None:
                frames.append(frame)
            ends = {f.id: f.kind for f in frames if f.kind in (SUCCEEDED, FAILED, CANCELED)}
            assert ends == dict.fromkeys([*ids, *late], SUCCEEDED), frames
            assert {f.id for f in frames if f.kind == BATCH_DONE} == {id, other}
            worker.loaded = None
            worker.process.wait()


def test_postprocess_alone():
    source = """
        from cog import BaseRunner, batch
        class Runner(BaseRunner):
            @batch(max_size=8)
            def run(self, n: list[int], k: int = 1) -> list[int]:
                return [i * k for i in n]
            def postprocess(self, n: int) -> str:
                return str(n)
    """
    for text in (source, source.replace("def run", "async def run")):
        with BatchWorker(text) as worker:
            assert worker.loaded["batch"]["prepare"] is False
            assert worker.loaded["batch"]["keys"] == ["k"]
            result = worker.run_batch([{"n": n, "k": 2} for n in range(5)])
            assert result.outputs == ["0", "2", "4", "6", "8"]


def test_preprocess_alone():
    source = """
        from cog import BaseRunner, batch
        class Runner(BaseRunner):
            def preprocess(self, n: int) -> int:
                return n * 2
            @batch(max_size=8)
            def run(self, items):
                return items
    """
    for text in (source, source.replace("def run", "async def run")):
        with BatchWorker(text) as worker:
            assert run_batch(worker, {"n": 1}, {"n": 2}).outputs == [2, 4]


if __name__ == "__main__":
    main(sys.modules[__name__])
