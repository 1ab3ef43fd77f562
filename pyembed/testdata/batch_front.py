"""The front's part in batches, for tests: items, batches, and what comes back of them."""

from __future__ import annotations

import json
import struct

from front import ENDS, LOG, LOG_MARK, PREDICT, Worker

BATCH, DROP, PREPARED, BATCH_DONE = 2, 3, 24, 25
BATCH_ITEM = 8


class BatchWorker(Worker):
    """A worker whose model has @batch."""

    def hold(self, input, slot=0, flags=0, **more):
        """Send an item; return its id. Items have no claim word."""
        self.serial += 1
        id = self.serial * 64 + self.serial % 64
        body = json.dumps({"input": input, **more}).encode()
        self.slots[slot].send(PREDICT, id, body, flags | BATCH_ITEM)
        return id

    def claim(self, slot=0, state=1):
        """Make an id with a claim word, as a batch has one; 1 is queued, 3 revoked."""
        self.serial += 1
        id = self.serial * 64 + self.serial % 64
        at = 4096 + slot * 1024 + 128 + 8 * (id % 64)
        struct.pack_into("<Q", self.page, at, id << 2 | state)
        return id

    def send_batch(self, ids, slot=0, state=1):
        """Have items run as one batch; return the batch's id."""
        id = self.claim(slot, state)
        self.slots[slot].send(BATCH, id, json.dumps({"ids": ids}).encode())
        return id

    def drop(self, ids, slot=0):
        self.slots[slot].send(DROP, 0, json.dumps({"ids": ids}).encode())

    def is_running(self, id, slot=0):
        return struct.unpack_from("<Q", self.page, 4096 + slot * 1024)[0] == id

    def ends(self, ids, slot=0):
        """Return the frames until these items have ended, where no batch is to come of them."""
        left, frames = set(ids), []
        while left:
            frame = self.slots[slot].frame()
            assert frame is not None, (self.process.wait(), self.drain())
            frames.append(frame)
            if frame.kind in ENDS:
                assert frame.id in left, (frame, left)
                left.remove(frame.id)
        return frames

    def run_batch(self, inputs, slot=0, flags=0, **more):
        """Carry out one batch; return its Result."""
        with self.slots[slot].together():
            ids = [self.hold(i, slot, flags, **more) for i in inputs]
            batch = self.send_batch(ids, slot)
        return Result(self, ids, batch, slot)


class Result:
    """What came of a batch: its end, and the answers in the order of its items."""

    def __init__(self, worker, ids, batch, slot=0):
        self.ids, self.id = ids, batch
        self.frames = []
        left, done = set(ids), None
        while left or done is None:
            frame = worker.slots[slot].frame()
            assert frame is not None, (worker.process.wait(), worker.drain())
            self.frames.append(frame)
            if frame.kind in ENDS:
                assert frame.id in left, (frame, left)
                left.remove(frame.id)
            elif frame.kind == BATCH_DONE:
                assert frame.id == batch and done is None, frame
                done = frame
                assert not worker.is_running(batch, slot)
        self.done = done.value
        self.nanos = done.nanos
        ends = {frame.id: frame for frame in self.frames if frame.kind in ENDS}
        self.ends = [ends[id] for id in ids]
        self.kinds = [end.kind for end in self.ends]
        self.outputs = [end.value.get("output") for end in self.ends]
        self.errors = [end.value.get("error") for end in self.ends]
        self.metrics = [end.value["metrics"] for end in self.ends]

    def logs(self, id):
        """Return the text that came for an item alone."""
        return "".join(f.value["data"] for f in self.frames if f.kind == LOG and f.id == id)

    def marks(self):
        return [f for f in self.frames if f.kind == LOG_MARK]
