"""However a prediction writes its text, the text has come out when the prediction is answered."""

from __future__ import annotations

import os
import sys

from front import LOG_MARK, SUCCEEDED, Worker, main

MODEL = """
    import io
    import sys

    class Late(io.TextIOBase):
        # A stream that hands on what it has only when it is flushed.
        def __init__(self, behind):
            self.behind, self.kept = behind, []

        def write(self, text):
            self.kept.append(text)
            return len(text)

        def flush(self):
            self.behind.write("".join(self.kept))
            self.kept.clear()

    class Own(type(sys.stdout)):
        # One of the worker's kind, that does the same.
        def write(self, text):
            self.__dict__.setdefault("kept", []).append(text)
            return len(text)

        def flush(self):
            kept = "".join(self.__dict__.pop("kept", ()))
            if kept:
                super().write(kept)
            super().flush()

    def replace(how):
        if how == "late":
            sys.stdout = Late(sys.stdout)
        elif how == "own":
            behind = sys.stdout.detach()
            sys.stdout = Own(behind, "utf-8", line_buffering=True)
        elif how == "rewrapped":
            sys.stdout = io.TextIOWrapper(sys.stdout.detach(), "utf-8")
        elif how == "over its buffer":
            sys.stdout = io.TextIOWrapper(sys.stdout.buffer, "utf-8")
        elif how == "behind":
            sys.stdout = io.StringIO()

    def run(how: str, n: int) -> int:
        if n == 0:
            replace(how)
        elif n > 3:
            pass
        elif how == "print":
            print("words", n)
        elif how == "begun":
            print("words", n, end="")
        elif how == "lines":
            sys.stdout.writelines(["words ", str(n), " and ", "more"])
        elif how == "bytes":
            sys.stdout.buffer.write(b"words %d" % n)
        elif how == "lines of bytes":
            sys.stdout.buffer.writelines([b"words ", b"%d" % n])
        elif how == "raw":
            getattr(sys.stdout.buffer, "raw", sys.stdout.buffer).write(b"words %d" % n)
        elif how == "error":
            print("words", n, end="", file=sys.stderr)
        elif how == "bytes of an error":
            sys.stderr.buffer.write(b"words %d" % n)
        elif how == "behind":
            print("words", n, end="", file=sys.__stdout__)
        else:
            print("words", n, end="")
        return n
"""
OF_OURS = ("print", "begun", "lines", "bytes", "lines of bytes", "raw", "error", "bytes of an error")
OF_THE_MODEL = ("late", "own", "rewrapped", "over its buffer", "behind")
LENGTH = len("words 1")


def marked(worker, how, n):
    """Return how far a prediction's last mark says that the pipes came; None: it has none."""
    frames = worker.run({"how": how, "n": n}, flags=0)
    assert frames[-1].kind == SUCCEEDED, frames
    marks = [frame.value for frame in frames if frame.kind == LOG_MARK]
    return marks[-1]["stdout"] + marks[-1]["stderr"] if marks else None


def check(worker, how):
    """Each prediction that writes has it marked, and each that does not has nothing."""
    at = sum(map(len, worker.drain()))
    for n in (1, 2, 3):
        now = marked(worker, how, n)
        assert now is not None and now >= at + LENGTH, (how, n, at, now)
        assert sum(map(len, worker.drain())) == now, (how, n)
        at = now
    for n in (4, 5):
        assert marked(worker, how, n) is None, (how, n)


def each_buffering(test):
    """Run a test with Python's streams as they are, and as PYTHONUNBUFFERED has them."""

    def run():
        for value in ("", "1"):
            os.environ["PYTHONUNBUFFERED"] = value
            test()

    return run


@each_buffering
def test_the_workers_own_streams():
    for source in (MODEL, MODEL.replace("def run", "async def run")):
        with Worker(source) as worker:
            for how in OF_OURS:
                check(worker, how)


@each_buffering
def test_streams_of_the_model():
    for how in OF_THE_MODEL:
        with Worker(MODEL) as worker:
            assert marked(worker, how, 0) is None
            check(worker, how)


if __name__ == "__main__":
    main(sys.modules[__name__])
