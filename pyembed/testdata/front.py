"""A front for tests: starts a real worker and speaks the protocol of ipc/PROTOCOL.md with it."""

from __future__ import annotations

import collections
import contextlib
import ctypes
import fcntl
import json
import mmap
import os
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import textwrap
import time
import traceback

PREDICT, SUCCEEDED, FAILED, CANCELED, LOG, LOG_MARK, LOG_RECORD = 1, 16, 17, 18, 19, 20, 31
STARTED, OUTPUT, METRIC = 21, 22, 23
HELLO, LOADED, READY, SETUP_FAILED, CUDA, HEALTHY, PONG = 32, 33, 34, 35, 36, 37, 38
SLOT, SHUTDOWN, HEALTH, PING, INTERRUPT = 48, 49, 50, 51, 54
FILE, EVENTS, TRAIN = 1, 2, 4
ENDS = (SUCCEEDED, FAILED, CANCELED)

HEADER = struct.Struct("<IBBHQQ")
PAGE_SIZE = 4096 + 1000 * (1024 + 16384)
MAGIC = 0x314E4F494E4950
TIMEOUT = 30
SLOT_SHIFT = 48  # of ids, to the index of their slot


class Frame:
    def __init__(self, kind, flags, id, nanos, body):
        self.kind, self.flags, self.id, self.nanos, self.body = kind, flags, id, nanos, body

    @property
    def value(self):
        return json.loads(self.body)

    def __repr__(self):
        return f"<{self.kind} of {self.id}: {self.body[:200]!r}>"


class Channel:
    def __init__(self, sock):
        self.sock = sock
        self.buffer = bytearray()
        self.fds = []
        self.held = None  # bytes, within together

    @contextlib.contextmanager
    def together(self):
        """Send all frames that are sent within this, none with a descriptor, at once."""
        self.held = b""
        try:
            yield
        finally:
            data, self.held = self.held, None
            self.sock.sendall(data)

    def send(self, kind, id=0, body=b"", flags=0, fd=None):
        data = HEADER.pack(len(body), kind, flags, 0, id, 0) + body
        if self.held is not None:
            assert fd is None
            self.held += data
        elif fd is None:
            self.sock.sendall(data)
        else:
            socket.send_fds(self.sock, [data], [fd])

    def frame(self, timeout=TIMEOUT):
        """Return the next frame; None at the end."""
        while True:
            if len(self.buffer) >= 24:
                size, kind, flags, zero, id, nanos = HEADER.unpack_from(self.buffer)
                assert zero == 0
                if len(self.buffer) >= 24 + size:
                    body = bytes(self.buffer[24 : 24 + size])
                    del self.buffer[: 24 + size]
                    if kind == LOG_RECORD:
                        continue  # it changes nothing of whose text is whose
                    if flags & FILE:
                        assert size == 0
                        fd = self.fds.pop(0)
                        body = os.pread(fd, os.fstat(fd).st_size, 0)
                        os.close(fd)
                    return Frame(kind, flags, id, nanos, body)
            self.sock.settimeout(timeout)
            data, fds, _, _ = socket.recv_fds(self.sock, 1 << 18, 16)
            self.fds += fds
            if not data:
                return None
            self.buffer += data


class SharedSlot:
    """A slot of an event loop: all its slots have one channel, and their frames are told apart by their ids."""

    def __init__(self, channel, index, others):
        self.channel, self.index, self.others = channel, index, others
        self.waiting = collections.deque()

    def __getattr__(self, name):
        return getattr(self.channel, name)

    def frame(self, timeout=TIMEOUT):
        if self.waiting:
            return self.waiting.popleft()
        while (frame := self.channel.frame(timeout)) is not None:
            if frame.id == 0 or frame.id >> SLOT_SHIFT == self.index:
                return frame
            self.others[frame.id >> SLOT_SHIFT].waiting.append(frame)
        return None


class Worker:
    """A worker that serves a model, given as Python source."""

    def __init__(self, source, slots=1, train=None, mode="predict", concurrency=0, config=None, **files):
        self.root = tempfile.mkdtemp(dir=os.environ["PINION_TEST_SCRATCH"])
        for name, text in {"predict": source, **files}.items():
            with open(f"{self.root}/{name}.py", "w") as file:
                file.write(textwrap.dedent(text))
        binary, library, sdk = sys.argv[1:4]
        config = {
            "python": sys.executable, "libpython": library, "sdk": sdk, "root": self.root,
            "ref": "predict.py", "mode": mode, "concurrency": concurrency, **(config or {}),
        }
        if train:
            config["train"] = train
        ours, theirs = socket.socketpair()
        self.control = Channel(ours)
        page = os.memfd_create("page")
        os.ftruncate(page, PAGE_SIZE)
        self.page = mmap.mmap(page, PAGE_SIZE)
        struct.pack_into("<Q", self.page, 0, MAGIC)
        struct.pack_into("<Q", self.page, 392, 1)  # takes no pipes of predictions' own
        self.pipes = [os.pipe(), os.pipe()]
        for read, _ in self.pipes:
            fcntl.fcntl(read, fcntl.F_SETPIPE_SZ, 1 << 20)
            os.set_blocking(read, False)
        environment = {**os.environ, "PINION_TEST_WORKER": json.dumps(config)}

        self.process = self._spawn(binary, environment, theirs.fileno(), page)
        theirs.close()
        os.close(page)
        self.logs = [b"", b""]  # what was written to the pipes
        self.hello = self._expect(HELLO)
        self.serial = 0
        self.canceled = set()  # predictions
        self.slots = []
        frame = self.control.frame()
        if frame is None or frame.kind == SETUP_FAILED:
            self.loaded = None
            self.failure = frame
            return
        assert frame.kind == LOADED, frame
        self.loaded = frame.value
        frame = self._next_control()
        assert frame.kind == READY, frame
        if self.loaded["async"] and "batch" not in self.loaded:
            channel = self._open(0)
            self.slots += [SharedSlot(channel, i, self.slots) for i in range(slots or self.loaded["slots"])]
            return
        self.slots += map(self._open, range(slots or self.loaded["slots"]))

    def _open(self, index):
        ours, theirs = socket.socketpair()
        self.control.send(SLOT, index, flags=FILE, fd=theirs.fileno())
        theirs.close()
        return Channel(ours)

    def _spawn(self, binary, environment, control, page):
        high = [fcntl.fcntl(fd, fcntl.F_DUPFD, 100) for fd in (control, page)]

        def child():
            os.setpgid(0, 0)
            os.dup2(high[0], 3)
            os.dup2(high[1], 4)

        process = subprocess.Popen(
            [binary], env=environment, cwd=self.root, stdin=subprocess.DEVNULL,
            stdout=self.pipes[0][1], stderr=self.pipes[1][1], preexec_fn=child, pass_fds=(3, 4),
        )
        for fd in (*high, self.pipes[0][1], self.pipes[1][1]):
            os.close(fd)
        return process

    def _next_control(self):
        while (frame := self.control.frame()) is not None and frame.kind in (CUDA, LOG_MARK, PONG):
            pass
        return frame

    def _expect(self, kind):
        frame = self._next_control()
        assert frame is not None and frame.kind == kind, (frame, self.drain())
        return frame.value

    def drain(self):
        """Take from the pipes what they hold, as the front does, and return all that was ever there."""
        for i, (read, _) in enumerate(self.pipes):
            offset = 64 * (i + 1)
            while True:
                self._add(offset, 1)
                try:
                    data = os.read(read, 1 << 16)
                except BlockingIOError:
                    data = b""
                self._add(offset + 8, len(data))
                self._add(offset, 1)
                if not data:
                    break
                self.logs[i] += data
        return tuple(log.decode(errors="replace") for log in self.logs)

    def _add(self, offset, n):
        (value,) = struct.unpack_from("<Q", self.page, offset)
        struct.pack_into("<Q", self.page, offset, value + n)

    def submit(self, input, slot=0, flags=EVENTS, **more):
        """Send a request; return its id."""
        self.serial += 1
        id = slot << SLOT_SHIFT | self.serial * 64 + self.serial % 64
        base = 4096 + slot * 1024
        struct.pack_into("<Q", self.page, base + 128 + 8 * (id % 64), id << 2 | 1)
        body = json.dumps({"input": input, **more}).encode()
        self.slots[slot].send(PREDICT, id, body, flags)
        return id

    def cancel(self, id, slot=0):
        struct.pack_into("<Q", self.page, 4096 + slot * 1024 + 64, id)
        self.canceled.add(id)
        self._signal()

    def _signal(self):
        if self.loaded["slots"] > 1 and not self.loaded.get("async"):  # each slot has a thread
            self.control.send(INTERRUPT)
            return
        ctypes.CDLL(None).tgkill(self.process.pid, self.process.pid, signal.SIGUSR1)

    def _next(self, id, slot):
        """Return the slot's next frame. While a cancel has none, its signal is repeated, as the front does."""
        for _ in range(TIMEOUT):
            try:
                return self.slots[slot].frame(timeout=1)
            except TimeoutError:
                if id in self.canceled:
                    self._signal()
        raise TimeoutError(f"no frame of {id} in {TIMEOUT} s")

    def frames(self, id, slot=0):
        """Yield the frames of a prediction up to its end."""
        while True:
            frame = self._next(id, slot)
            assert frame is not None, (self.process.wait(), self.drain())
            if frame.kind == LOG_MARK and frame.id == 0:
                continue  # text between two predictions belongs to none
            assert frame.id == id, (frame, id)
            yield frame
            if frame.kind in ENDS:
                return

    def run(self, input, slot=0, flags=EVENTS, **more):
        return list(self.frames(self.submit(input, slot, flags, **more), slot))

    def health(self):
        self.serial += 1
        self.control.send(HEALTH, self.serial, b"{}")
        while True:
            frame = self._next_control()
            assert frame is not None and frame.kind == HEALTHY, frame
            if frame.id == self.serial:
                return frame.value

    def stop(self):
        """End the worker as the front does; return its exit code."""
        self.control.send(SHUTDOWN, 0, b"{}")
        code = self.process.wait(timeout=TIMEOUT)
        assert code == 0, (code, self.drain())

    def __enter__(self):
        return self

    def __exit__(self, kind, error, trace):
        if error is None and self.loaded is not None:
            self.stop()
            return
        self.process.kill()
        self.process.wait()
        if error is not None:
            print("the worker's logs:", *self.drain(), sep="\n", file=sys.stderr)


def kinds(frames):
    return [frame.kind for frame in frames if frame.kind != LOG_MARK]


def outputs(frames):
    return [frame.value for frame in frames if frame.kind == OUTPUT]


def eventually(condition):
    """Wait until a condition holds."""
    deadline = time.monotonic() + TIMEOUT
    while not condition():
        assert time.monotonic() < deadline, "it never came to be"
        time.sleep(0.001)


def main(module):
    """Run the tests of a module; its functions that begin with test_."""
    failed = 0
    wanted = sys.argv[4:]
    for name, test in list(vars(module).items()):
        if not name.startswith("test_") or (wanted and name not in wanted):
            continue
        try:
            test()
        except BaseException:
            failed += 1
            print(f"--- {name}", file=sys.stderr)
            traceback.print_exc()
    sys.exit(1 if failed else 0)
