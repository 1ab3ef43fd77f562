"""Outputs with long strings, which are sent from where they lie."""

from __future__ import annotations

import json
import sys
import textwrap

from front import EVENTS, FAILED, LOG_MARK, SUCCEEDED, Worker, main, outputs

BORROWED = 64 << 10
ALONE = 1 << 20  # above this an answer is not queued
MEMORY_FILE = 16 << 20

# make(spec) builds the same value in the worker and here.
VALUES = '''
    class Sub(str):
        pass
    def make(spec):
        if isinstance(spec, dict):
            if "text" in spec:
                value = spec["text"] * spec["times"]
                at = spec.get("at")
                if at is not None:
                    at = at % len(value)
                    value = value[:at] + spec["escape"] + value[at + 1 :]
                return Sub(value) if spec.get("sub") else value
            return {key: make(item) for key, item in spec.items()}
        return [make(item) for item in spec] if isinstance(spec, list) else spec
'''
MODEL = VALUES + '''
    from typing import Any
    def run(spec: str) -> Any:
        import json
        return make(json.loads(spec))
'''
scope = {}
exec(textwrap.dedent(VALUES), scope)
make = scope["make"]


def text(n, char="x", **more):
    """Return the spec of a str of n bytes."""
    return {"text": char, "times": n // len(char.encode()), **more}


def specs():
    """Give values around each bound."""
    for n in (BORROWED - 1024, BORROWED - 1, BORROWED, BORROWED + 1, BORROWED + 1024):
        yield text(n)
        yield text(n, sub=True)
        for at in (0, n // 2, -1):
            yield text(n, at=at, escape="\n")
        for char in ("\xe4", "\u20ac", "\U0001f600"):
            yield text(n, char)
    for n in (ALONE - 100, ALONE, ALONE + 1, 3 * ALONE + 5):
        yield text(n)
        yield text(n, at=n // 2, escape='"')
    yield [text(BORROWED, chr(ord("a") + i)) for i in range(20)]
    yield {"a": text(BORROWED), "b": [1, text(2 * ALONE, "y"), "short", text(BORROWED + 7, "z")], "c": {"d": text(BORROWED, sub=True)}}
    yield [text(ALONE, chr(ord("a") + i)) for i in range(15)]


def check(worker, spec, flags=EVENTS):
    frame = worker.run({"spec": json.dumps(spec)}, flags=flags)[-1]
    assert frame.kind == SUCCEEDED, frame
    assert frame.value["output"] == make(spec), str(spec)[:200]


def test_bounds():
    with Worker(MODEL) as worker:
        for spec in specs():
            check(worker, spec)


def test_memory_file():
    with Worker(MODEL) as worker:
        around = MEMORY_FILE - 200
        for spec in (text(around), text(MEMORY_FILE + 1), [text(17 << 20), "y", text(BORROWED, "z")], text(17 << 20, at=5, escape="\n")):
            check(worker, spec)


def test_order():
    """Small answers before, between and after large ones, of requests that lie ahead in the socket."""
    with Worker(MODEL) as worker:
        sizes = [10, 3 * ALONE, 10, BORROWED, 10, 10, 17 << 20, BORROWED - 1, 2 * ALONE, 10]
        ids = [worker.submit({"spec": json.dumps(text(n))}, flags=0) for n in sizes]
        for n, id in zip(sizes, ids):
            *marks, end = worker.frames(id)
            assert all(frame.kind == LOG_MARK for frame in marks)
            assert end.kind == SUCCEEDED
            assert end.value["output"] == "x" * n


def test_slow_front():
    """The front reads in pieces that fit nothing; signals end the worker's system calls half-way."""
    with Worker(MODEL) as worker:
        spec = {"a": text(2 * ALONE), "b": [text(BORROWED, "y"), text(3 * ALONE, "\xe4")]}
        id = worker.submit({"spec": json.dumps(spec)}, flags=0)
        channel = worker.slots[0]
        whole = channel.sock
        channel.sock = Trickle(whole, lambda: worker.cancel(0))
        *_, end = worker.frames(id)
        channel.sock = whole
        assert end.value["output"] == make(spec)
        check(worker, text(10))


class Trickle:
    """A socket that gives a few bytes at a time, and does something in between."""

    def __init__(self, sock, between):
        self.sock, self.between, self.turn = sock, between, 0

    def settimeout(self, seconds):
        self.sock.settimeout(seconds)

    def recvmsg(self, size, *more):
        self.turn += 1
        if self.turn > 1:  # the worker is at it, and would not die of a signal
            self.between()
        return self.sock.recvmsg((1, 23, 4097, 65_537, 1_000_003)[self.turn % 5], *more)


def test_references():
    """A borrowed body is dropped; the model reads its own str, and a child process delays nothing."""
    source = '''
        import sys
        KEPT = "x" * 3_000_000
        class Sub(str):
            gone = 0
            def __del__(self):
                Sub.gone += 1
        def run(what: str) -> object:
            if what == "count":
                return [sys.getrefcount(KEPT), Sub.gone]
            if what == "kept":
                return [KEPT, {"again": KEPT}]
            if what == "wrong":
                return [KEPT, Sub("y" * 100_000), float("nan")]
            return Sub("z" * 2_000_000)
    '''
    with Worker(source) as worker:
        def ask(what):
            return worker.run({"what": what}, flags=0)[-1]

        count, gone = ask("count").value["output"]
        assert gone == 0
        for turn in range(3):
            assert len(ask("kept").body) > 6_000_000
            wrong = ask("wrong")
            assert wrong.kind == FAILED
            assert wrong.value["error"].endswith("output[2] is nan, which JSON cannot hold"), wrong
            assert len(wrong.body) < 1000
            assert len(ask("sub").value["output"]) == 2_000_000
            assert ask("count").value["output"] == [count, 2 * turn + 2]


def test_no_descriptor():
    """A body that finds no descriptor for its memory file becomes a failure, and nothing stays lent."""
    source = '''
        import resource, sys
        KEPT = "x" * (17 << 20)
        def run(limit: int) -> object:
            soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
            resource.setrlimit(resource.RLIMIT_NOFILE, (limit or hard, hard))
            return KEPT if limit else sys.getrefcount(KEPT)
    '''
    with Worker(source) as worker:
        def ask(limit):
            return worker.run({"limit": limit}, flags=0)[-1]

        count = ask(0).value["output"]
        end = ask(3)
        assert end.kind == FAILED, end
        assert "send an answer of 178" in end.value["error"], end.value["error"]
        assert ask(0).value["output"] == count
        assert len(ask(100).value["output"]) == 17 << 20


def test_stream():
    source = MODEL.replace("def run(spec: str) -> Any:", "from collections.abc import Iterator\n    def run(spec: str) -> Iterator[Any]:")
    source = source.replace("return make(json.loads(spec))", "yield from make(json.loads(spec))")
    items = ["a", text(BORROWED), text(2 * ALONE, "\xe4"), "b", text(17 << 20), [text(BORROWED), text(BORROWED, "y")], text(BORROWED - 1)]
    with Worker(source) as worker:
        for flags in (EVENTS, 0):
            frames = worker.run({"spec": json.dumps(items)}, flags=flags)
            assert frames[-1].kind == SUCCEEDED
            got = outputs(frames) if flags else frames[-1].value["output"]
            assert got == make(items)


def test_async():
    source = MODEL.replace("def run(", "async def run(")
    specs = [text(BORROWED), text(3 * ALONE), [text(BORROWED, "y"), text(17 << 20)], text(5), {"a": text(ALONE, "\xe4")}]
    with Worker(source, slots=len(specs), concurrency=len(specs)) as worker:
        for _ in range(3):
            ids = [worker.submit({"spec": json.dumps(spec)}, slot) for slot, spec in enumerate(specs)]
            for slot, (id, spec) in enumerate(zip(ids, specs)):
                *_, end = worker.frames(id, slot)
                assert end.value["output"] == make(spec)


def test_gone():
    """The front goes away in the midst of a large answer: the worker ends."""
    for n in (3 * ALONE, 17 << 20):
        worker = Worker(MODEL)
        worker.submit({"spec": json.dumps([text(n), text(BORROWED)])}, flags=0)
        sock = worker.slots[0].sock
        assert len(sock.recv(10)) == 10
        sock.close()
        worker.control.sock.close()
        worker.process.wait(timeout=30)


if __name__ == "__main__":
    main(sys.modules[__name__])
