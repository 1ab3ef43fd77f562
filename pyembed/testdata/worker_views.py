"""Arrays that use the memory file of their request."""

from __future__ import annotations

import os
import socket
import struct
import sys

from front import FAILED, FILE, HEADER, PREDICT, SUCCEEDED, Worker, main

KEPT = 32
ROOM = 1 << 20
SIZE = 100_000
COPIED = 16  # requests after one whose array was kept

MODEL = """
    import gc, os, resource
    from typing import Any
    kept = []
    def run(x: Any, do: str = "") -> Any:
        elements, shape, code = x
        view = memoryview(elements)
        said = [type(elements).__name__, shape, code, sum(view)]
        if do == "write":
            view[0] = 99
        if do == "keep":
            kept.append(view[1:])
        if do == "cycle":
            cycle = [view]
            cycle.append(cycle)
        if do == "drop":
            kept.clear()
        if do == "no memory":
            resource.setrlimit(resource.RLIMIT_DATA, (1, 1))  # no page can be made private
            do = "fork"
        if do == "fork":
            pid = os.fork()
            if pid == 0:
                view[0] = 98
                os._exit(0)
            os.waitpid(pid, 0)
            said.append(view[0])
        if do == "fail":
            kept.append(view)
            raise ValueError("as told")
        if do == "maps":
            gc.collect()
            said += [bytes(v[:1])[0] for v in kept]
            with open("/proc/self/maps") as maps:
                said.append(sum("views-of-a-test" in line for line in maps))
        return said
"""


class Requests:
    """Requests with one tensor of bytes in a file."""

    def __init__(self, worker):
        self.worker = worker
        self.file()

    def file(self):
        """Use another file from now on."""
        self.fd = os.memfd_create("views-of-a-test")
        os.ftruncate(self.fd, 2 * ROOM)

    def send(self, do, at=64, fill=1):
        """Return the answer, and whether the file is kept."""
        w = self.worker
        os.pwrite(self.fd, bytes([fill]) * SIZE, at)
        w.serial += 1
        id = w.serial * 64 + w.serial % 64
        struct.pack_into("<Q", w.page, 4096 + 128 + 8 * (id % 64), id << 2 | 1)
        tensor = struct.pack("<BBBQQQ", 1, ord("B"), 1 | 128, SIZE, SIZE, at)
        body = b'{"input":{"x":' + tensor + b',"do":"' + do.encode() + b'"}}'
        header = HEADER.pack(len(body), PREDICT, FILE, 0, id, ROOM)
        socket.send_fds(w.slots[0].sock, [header + body], [self.fd])
        answer = list(w.frames(id))[-1]
        kept = bool(answer.flags & KEPT)
        answer.flags &= ~KEPT
        assert answer.flags == 0
        return answer, kept

    def run(self, do, kind="Elements", kept=False, more=(), **options):
        """Send, and check what the model says."""
        answer, is_kept = self.send(do, **options)
        fill = options.get("fill", 1)
        assert answer.kind == SUCCEEDED, answer
        assert answer.value["output"] == [kind, [SIZE], "B", fill * SIZE, *more], answer
        assert is_kept is kept, (do, answer)

    def copied(self):
        """Send requests as long as the worker copies."""
        self.file()
        for _ in range(COPIED):
            self.run("", "bytearray")


def first(fd):
    """Return the tensor's first byte in the file."""
    return os.pread(fd, 1, 64)[0]


def test_views():
    with Worker(MODEL) as worker:
        r = Requests(worker)
        for i in range(40):
            r.run("", fill=i)
        r.run("write")
        assert first(r.fd) == 99
        r.run("", "bytearray", at=72)  # not aligned
        r.run("")


def test_kept():
    with Worker(MODEL) as worker:
        r = Requests(worker)
        r.run("keep", kept=True, fill=3)
        r.copied()
        r.run("cycle", kept=True)
        r.copied()
        answer, kept = r.send("fail", fill=7)
        assert answer.kind == FAILED, answer
        assert kept
        r.copied()
        # Two files of which arrays are left, and the one that is used again.
        r.run("maps", more=[3, 7, 3])
        r.run("drop")
        r.run("maps", more=[1])
        for _ in range(3):
            r.run("")


def test_fork():
    with Worker(MODEL) as worker:
        r = Requests(worker)
        r.run("fork", kept=True, more=[1])
        assert first(r.fd) == 1
        r.copied()
        r.run("maps", more=[1])


def test_no_memory():
    with Worker(MODEL) as worker:
        r = Requests(worker)
        try:
            answer = r.send("no memory")
        except AssertionError:  # the worker has closed the slot
            answer = None
        assert answer is None, answer
        assert worker.process.wait() == 1
        assert "make the pages of arrays private: Cannot allocate memory" in worker.drain()[1]
        worker.loaded = None  # there is nothing to stop


if __name__ == "__main__":
    main(sys.modules[__name__])
