"""Items that are dropped, and batches that are canceled, of a synchronous and of an async function."""

from __future__ import annotations

import sys
import time
from itertools import cycle
from pathlib import Path

from batch_front import Result
from batch_model import each, of
from front import CANCELED, SUCCEEDED, eventually, main


@each
def test_dropped_before_its_batch(worker):
    ids = [worker.hold({"n": i}) for i in range(3)]
    worker.drop(ids[:1])
    assert [(f.kind, f.id) for f in worker.ends(ids[:1])] == [(CANCELED, ids[0])]
    batch = Result(worker, ids[1:], worker.send_batch(ids))
    assert batch.outputs == [2, 3]
    assert batch.done["size"] == 2
    worker.drop(ids)  # answered: nothing
    assert worker.run_batch(of(1)).outputs == [2]


@each
def test_dropped_while_it_runs(worker):
    gate = Path(worker.root, "gate")
    ids = [worker.hold({"n": i, "how": str(gate)}) for i in range(3)]
    batch = worker.send_batch(ids)
    eventually(lambda: worker.is_running(batch))
    worker.drop(ids[1:2])
    gate.touch()
    result = Result(worker, ids, batch)
    assert result.kinds[0] == result.kinds[2] == SUCCEEDED
    assert result.kinds[1] in (SUCCEEDED, CANCELED)
    assert result.done["size"] == 3


@each
def test_dropped_while_its_batch_waits(worker):
    gate = Path(worker.root, "gate")
    first = [worker.hold({"n": 1, "how": str(gate)})]
    runs = worker.send_batch(first)
    eventually(lambda: worker.is_running(runs))
    ids = [worker.hold({"n": n}) for n in range(3)]
    waits = worker.send_batch(ids)
    worker.drop(ids[1:2])
    gate.touch()
    assert Result(worker, first, runs).outputs == [2]
    result = Result(worker, ids, waits)
    assert result.kinds == [SUCCEEDED, CANCELED, SUCCEEDED]
    assert result.done["size"] == 2


@each
def test_cancel(worker):
    for _ in range(3):
        logs = worker.drain()[0]
        ids = [worker.hold({"n": i, "how": "sleep"}) for i in range(3)]
        batch = worker.send_batch(ids)
        eventually(lambda: worker.drain()[0] != logs)
        worker.cancel(batch)
        result = Result(worker, ids, batch)
        assert result.kinds == [CANCELED] * 3
        assert result.done["runs"] == 1
        assert worker.run_batch(of(1)).outputs == [2]


@each
def test_cancel_that_comes_too_early_or_too_late(worker):
    """It hits its own batch or none, and nothing but the function."""
    worker.run_batch(of(1))  # it has its handler now
    passes, ends = cycle(range(0, 30000, 100)), set()

    def attempt():
        ids = [worker.hold({"n": n, "how": "spin"}) for n in range(4)]
        batch = worker.send_batch(ids)
        for _ in range(next(passes)):
            pass
        worker.cancel(batch)
        result = Result(worker, ids, batch)
        assert len(set(result.kinds)) == 1, result.kinds
        ends.add(result.kinds[0])
        after = worker.run_batch(of(1, 2))
        assert after.outputs == [2, 3], after.frames
        return ends == {SUCCEEDED, CANCELED}

    for _ in range(300):
        attempt()
    eventually(attempt)  # where the machine is busy, a cancel in time is rare


@each
def test_a_cancel_that_is_swallowed(worker):
    ids = [worker.hold({"n": 1, "how": "swallow"})]
    batch = worker.send_batch(ids)
    eventually(lambda: worker.is_running(batch))
    time.sleep(0.05)
    worker.cancel(batch)
    result = Result(worker, ids, batch)
    assert result.kinds[0] in (SUCCEEDED, CANCELED)
    assert worker.run_batch(of(1)).outputs == [2]



if __name__ == "__main__":
    main(sys.modules[__name__])
