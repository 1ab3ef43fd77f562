"""Predictions on threads that do everything at once: read, print, emit, record, write, start threads and fail."""

from __future__ import annotations

import sys

from front import CANCELED, FAILED, METRIC, OUTPUT, STARTED, SUCCEEDED, Worker, kinds, main, outputs

SLOTS = 4
ROUNDS = 30

MODEL = """
    import threading
    from collections.abc import Iterator

    import cog

    shared = {"rows": [], "by": {}}  # all threads change it while others write it as their output

    def run(do: str, n: int = 0, rows: list[dict] = [], words: list[str] = []) -> dict:
        print("begin", do, n)
        scope = cog.current_scope()
        scope.record_metric("n", n)
        if do == "raise":
            raise ValueError(f"as asked {n}")
        if do == "share":
            shared["rows"].append([n, {"n": str(n)}])
            shared["by"][str(n % 50)] = list(range(n % 7))
            del shared["rows"][:-20]
            if n % 3 == 0:
                shared["by"].pop(str(n % 50), None)
            return shared
        if do == "thread":
            found = []
            thread = threading.Thread(target=lambda: found.append(cog.current_scope() is scope))
            thread.start()
            thread.join()
            return {"found": found}
        return {"n": n, "rows": rows, "words": [word * 2 for word in words]}
"""

STREAM = """
    from collections.abc import Iterator

    import cog

    def run(n: int) -> Iterator[dict]:
        for i in range(n):
            print("item", i)
            cog.current_scope().record_metric("at", i)
            yield {"i": i, "texts": [str(i)] * i}
"""


def request(slot, turn):
    """One input of each kind, and what its answer must be."""
    n = turn * SLOTS + slot
    rows = [{"id": i, "name": f"row {i}", f"key {n % 97} {i}": [1.5, None, True]} for i in range(n % 9)]
    words = ["x" * (i * 37 % 200) for i in range(n % 5)]
    return (
        ({"do": "echo", "n": n, "rows": rows, "words": words},
         {"n": n, "rows": rows, "words": [word * 2 for word in words]}),
        ({"do": "share", "n": n}, None),
        ({"do": "thread", "n": n}, {"found": [True]}),
        ({"do": "raise", "n": n}, f"ValueError: as asked {n}"),
    )[n % 4 if turn % 5 else 0]


def test_threads():
    with Worker(MODEL, concurrency=SLOTS, slots=SLOTS) as worker:
        for turn in range(0, ROUNDS * 4, 4):
            sent = [
                (slot, want, worker.submit(input, slot))
                for slot in range(SLOTS)
                for input, want in [request(slot, turn + i) for i in range(4)]
            ]
            for slot, want, id in sent:
                end = list(worker.frames(id, slot))[-1]
                if isinstance(want, str):
                    assert end.kind == FAILED and end.value["error"] == want, end
                else:
                    assert end.kind == SUCCEEDED, (end, worker.drain())
                    assert want is None or end.value["output"] == want, end
            worker.drain()


def test_streams():
    with Worker(STREAM, concurrency=SLOTS, slots=SLOTS) as worker:
        for turn in range(ROUNDS):
            n = turn % 6
            ids = [worker.submit({"n": n}, slot) for slot in range(SLOTS)]
            for slot, id in enumerate(ids):
                frames = list(worker.frames(id, slot))
                assert outputs(frames) == [{"i": i, "texts": [str(i)] * i} for i in range(n)], frames
                assert kinds(frames).count(METRIC) == n and kinds(frames).count(OUTPUT) == n, frames
            worker.drain()


# CPython leaves jumps back to the loops' begins out of these try blocks.
LOOPS = """
    from collections.abc import Iterator
    from pathlib import Path

    def run(how: str, path: str) -> Iterator[str]:
        n = 10**30
        try:
            yield "begun"
            if how == "for":
                for i in range(n):
                    str(i)
                    if not path:
                        print(i)
            elif how == "while":
                while n > 1:
                    n -= 1
            elif how == "call":
                while sorted(range(50)):
                    n -= 1
        finally:
            Path(path).write_text("seen")
"""


def test_cancel_at_the_end_of_a_turn():
    with Worker(LOOPS, concurrency=SLOTS, slots=SLOTS) as worker:
        for how in ["for", "while", "call"]:
            for turn in range(ROUNDS):
                slot, path = turn % SLOTS, f"{worker.root}/{how} {turn}"
                id = worker.submit({"how": how, "path": path}, slot)
                frames = worker.frames(id, slot)
                assert [next(frames).kind for _ in range(2)] == [STARTED, OUTPUT]
                worker.cancel(id, slot)
                assert kinds(frames) == [CANCELED]
                with open(path) as file:
                    assert file.read() == "seen", (how, turn)


if __name__ == "__main__":
    main(sys.modules[__name__])
