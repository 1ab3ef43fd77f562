"""Cancels of generators that catch them."""

from __future__ import annotations

import sys
import tempfile

from front import CANCELED, OUTPUT, STARTED, SUCCEEDED, Worker, kinds, main, outputs


def test_cancel_at_the_end_of_a_turn():
    # CPython leaves the jump from there to the loop's begin out of the try block.
    source = """
        from collections.abc import Iterator
        from pathlib import Path
        from cog import CancelationException
        def run(path: str) -> Iterator[str]:
            try:
                yield "begun"
                for i in range(10**12):
                    str(i)
                    if not path:
                        print(i)
            except CancelationException:
                Path(path).write_text("seen")
                raise
    """
    with Worker(source) as worker:
        for _ in range(100):
            path = tempfile.mktemp(dir=worker.root)
            id = worker.submit({"path": path})
            frames = worker.frames(id)
            assert [next(frames).kind for _ in range(2)] == [STARTED, OUTPUT]
            worker.cancel(id)
            assert kinds(frames) == [CANCELED]
            with open(path) as file:
                assert file.read() == "seen"


def test_generator_that_swallows_a_cancel():
    source = """
        import time
        from collections.abc import Iterator
        from cog import CancelationException
        def run() -> Iterator[str]:
            try:
                yield "one"
                time.sleep(600)
            except CancelationException:
                yield "two"
    """
    with Worker(source) as worker:
        id = worker.submit({})
        frames = worker.frames(id)
        assert [next(frames).kind for _ in range(2)] == [STARTED, OUTPUT]
        worker.cancel(id)
        rest = list(frames)
        assert outputs(rest) == ["two"]
        assert rest[-1].kind == SUCCEEDED


if __name__ == "__main__":
    main(sys.modules[__name__])
