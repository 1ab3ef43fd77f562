"""Batches mean the same in C and in Python: one table of cases goes through every path, and their clients see the same.

A sync function is served by C (`serving_batchloop.c`). Python (`_worker/batch/server.py`) takes a batch with events, a batch
behind one that is not simple, and an async function.
"""

from __future__ import annotations

import json
import sys

from batch_front import BatchWorker, Result
from batch_model import ASYNC, SYNC, of
from front import CANCELED, EVENTS, FAILED, SUCCEEDED, eventually, main

# What a batch of these inputs gives: (name, inputs, kinds). Outputs, errors, metrics and the end of the batch are compared
# between the paths, which other tests hold to what is right.
S, F = SUCCEEDED, FAILED
CASES = [
    ("one", of(1), [S]),
    ("several", of(1, 2, 3), [S, S, S]),
    ("a tuple", of(1, 2, how="tuple"), [S, S]),
    ("text is printed", of(1, 2, how="print"), [S, S]),
    ("a metric", of(1, 2, how="metric"), [S, S]),
    ("one that raises", of(13, how="raise"), [F]),
    ("one of several makes the function raise", of(1, 13, 3, how="raise"), [S, F, S]),
    ("it always raises", of(1, 2, how="all"), [F, F]),
    ("an element is an exception", of(1, 13, 3, how="element"), [S, F, S]),
    ("a list that is too short", of(1, 2, 3, how="short"), [F, F, F]),
    ("None", of(1, 2, how="none"), [F, F]),
    ("a str", of(1, 2, 3, how="str"), [F, F, F]),
    ("an element that is not JSON", of(1, 13, 3, how="encode"), [S, F, S]),
    ("the first element is not JSON", of(13, 1, how="encode"), [F, S]),
    ("the function exits", of(1, 2, how="exit"), [F, F]),
    ("an error that is not tried again", of(1, 2, how="lost"), [F, F]),
]


def seen(result):
    """Return what clients see of a batch, without times."""
    metrics = [{k: v for k, v in m.items() if k != "predict_time"} for m in result.metrics]
    return {
        "kinds": result.kinds, "outputs": result.outputs, "errors": result.errors, "metrics": metrics,
        "done": result.done,
    }


def in_c(worker, inputs):
    return worker.run_batch(inputs)


def with_events(worker, inputs):
    return worker.run_batch(inputs, flags=EVENTS)


def behind_another(worker, inputs):
    """The batch lies in the worker when it meets one with events, and goes to Python with that."""
    with worker.slots[0].together():
        first = [worker.hold({"n": 1}, flags=EVENTS)]
        before = worker.send_batch(first)
        ids = [worker.hold(i) for i in inputs]
        batch = worker.send_batch(ids)
    Result(worker, first, before)
    return Result(worker, ids, batch)


PATHS = {
    "C": (SYNC, in_c),
    "Python, events": (SYNC, with_events),
    "Python, behind another": (SYNC, behind_another),
    "Python, async": (ASYNC, in_c),
}


def text(value):
    return json.dumps(value, sort_keys=True)


def test_results():
    found = {}
    for path, (source, send) in PATHS.items():
        with BatchWorker(source) as worker:
            for name, inputs, kinds in CASES:
                got = seen(send(worker, inputs))
                assert got["kinds"] == kinds, (path, name, got)
                want = found.setdefault(name, (path, got))
                assert text(got) == text(want[1]), f"{name}: {path} gives {got}, {want[0]} gives {want[1]}"


def test_cancel():
    for path, (source, send) in PATHS.items():
        if send is behind_another:
            continue  # as with events, once it runs
        flags = EVENTS if send is with_events else 0
        with BatchWorker(source) as worker:
            logs = worker.drain()[0]
            ids = [worker.hold(i, flags=flags) for i in of(1, 2, how="sleep")]
            batch = worker.send_batch(ids)
            eventually(lambda worker=worker, logs=logs: worker.drain()[0] != logs)
            worker.cancel(batch)
            got = seen(Result(worker, ids, batch))
            assert got["kinds"] == [CANCELED, CANCELED], (path, got)
            assert got["done"] == {"runs": 1, "size": 2, "failed": False}, (path, got)
            assert send(worker, of(1)).outputs == [2], path


def test_dropped_items():
    """An item that was dropped before its batch begins is canceled, and the others are not."""
    for path, (source, send) in PATHS.items():
        if send is behind_another:
            continue
        flags = EVENTS if send is with_events else 0
        with BatchWorker(source) as worker:
            with worker.slots[0].together():
                ids = [worker.hold(i, flags=flags) for i in of(1, 2, 3)]
                worker.drop([ids[1]])
                batch = worker.send_batch(ids)
            got = seen(Result(worker, ids, batch))
            assert got["kinds"] == [SUCCEEDED, CANCELED, SUCCEEDED], (path, got)
            assert got["outputs"] == [2, None, 4], (path, got)


if __name__ == "__main__":
    main(sys.modules[__name__])
