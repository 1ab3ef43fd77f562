"""Counts the instructions of a worker under callgrind: count.py WORKER LIBPYTHON SDK prints "CASE INSTRUCTIONS" lines.

WORKER starts worker.c's program under callgrind, which writes what it counted into PINION_TEST_SCRATCH. The package's
doc.go says what the cases are.
"""

from __future__ import annotations

import glob
import os
import re
import sys

from batch_front import BatchWorker
from front import EVENTS, SUCCEEDED, Worker

ECHO = """
    import ctypes, sys
    from cog import BaseRunner

    def mix(n):
        sys._clear_type_cache()
        for _ in range(n):
            type("Mixed", (), {"x": 1}).x

    def mark(text):
        worker = ctypes.CDLL(None)
        if text.startswith("begin mix "):
            mix(int(text[10:]))
        elif text == "begin":
            worker.begin_count()
        else:
            worker.end_count(text[4:].encode())

    class Runner(BaseRunner):
        def run(self, text: str) -> str:
            if text.startswith("begin") or text.startswith("end "):
                mark(text)
            return text
"""
ASYNC = ECHO.replace("        def run", "        async def run")
STREAM = """
    from collections.abc import Iterator
""" + ECHO.replace("-> str:", "-> Iterator[str]:").replace(
    "return text", "\n".join(["for i in range(int(text) if text.isdigit() else 1):", " " * 16 + "yield str(i)"])
)
BATCH = ECHO.replace("from cog import BaseRunner", "from cog import BaseRunner, batch").replace(
    """        def run(self, text: str) -> str:
            if text.startswith("begin") or text.startswith("end "):
                mark(text)
""",
    """        @batch(max_size=32)
        def run(self, text: list[str]) -> list[str]:
            if text[0].startswith("begin") or text[0].startswith("end "):
                mark(text[0])
""",
)

# CPython 3.10 caches the attributes of types by the address of their names: which of them share a place, and so cost a look-up
# each time, depends on where the names lie, as by the length of a path, and makes up to 3 % of an async request. Each round
# mixes them anew. From 3.11 on its specialised bytecode mostly asks no such cache.
MIXES = sys.version_info < (3, 11)

WARM = 60  # requests first: CPython specialises its bytecode in them, and buffers get their size
ROUNDS = 8 if MIXES else 5
SHORT = "The quick brown fox"
LONG = ('Jackdaws love my big sphinx of quartz, \u00fcberall; "12"\n' * 2000)[:100_000]


def ask(worker, text, flags):
    frames = worker.run({"text": text}, flags=flags)
    assert frames[-1].kind == SUCCEEDED, frames


def batch(worker, texts, flags):
    """Have texts answered in one batch; a single text is a batch by itself."""
    texts = [texts] if isinstance(texts, str) else texts
    result = worker.run_batch([{"text": text} for text in texts], flags=flags)
    assert result.outputs == texts, result.frames


def counted(name):
    """Return what callgrind counted under a name."""
    total = 0
    for path in glob.glob(os.environ["PINION_TEST_SCRATCH"] + "/callgrind.*"):
        with open(path) as file:
            dump = file.read()
        if re.search(rf"^desc: Trigger: Client Request: {name}$", dump, re.MULTILINE):
            total += int(re.search(r"^(?:summary|totals): (\d+)", dump, re.MULTILINE)[1])
    assert total, f"callgrind counted nothing for {name}"
    return total


def rounds(worker, name, text, requests, flags, ask):
    """Return what so many requests cost at least, in some rounds, with what beginning and ending a count costs.

    The least: what a timer does, such as the watch of async models, falls into a round or not.
    """
    counts = []
    for n in range(ROUNDS):
        if MIXES:
            ask(worker, f"begin mix {7 * n}", flags)
            for _ in range(3):
                ask(worker, text, flags)
        ask(worker, "begin", flags)
        for _ in range(requests):
            ask(worker, text, flags)
        ask(worker, f"end {name}.{requests}.{n}", flags)
        counts.append(counted(f"{name}.{requests}.{n}"))
    return min(counts)


def count(worker, name, text, requests, per=1, flags=0, ask=ask):
    """Print what a request costs in a worker, or each of its `per` parts."""
    for _ in range(WARM):
        ask(worker, text, flags)
    total = rounds(worker, name, text, requests, flags, ask) - rounds(worker, name, text, 0, flags, ask)
    print(name, round(total / requests / per))


def main():
    with Worker(ECHO) as worker:
        count(worker, "echo", SHORT, 60)
        count(worker, "echo-100kB", LONG, 5)
    with Worker(ASYNC) as worker:
        count(worker, "async-echo", SHORT, 60)
    with Worker(STREAM) as worker:
        count(worker, "stream-item", "200", 2, per=200, flags=EVENTS)
    with BatchWorker(BATCH) as worker:
        count(worker, "batch-1", SHORT, 60, ask=batch)
        count(worker, "batch-32-item", [SHORT] * 32, 10, per=32, ask=batch)


if __name__ == "__main__":
    main()
