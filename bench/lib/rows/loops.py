"""Rows that are one closed loop of wrk: a network on onnxruntime, awaiting, batches."""

from __future__ import annotations

from typing import Any, ClassVar

from lib import tables
from lib.load import Load
from lib.peers import Peer
from lib.results import Results
from lib.rows.base import Row
from lib.server import Server


class Loop(Row):
    """wrk at some numbers of connections."""

    axis = ""  # what the plot calls them; empty: there is none

    def sample(self, server: Server, prepared: Load, point: str) -> dict[str, float]:
        """Run wrk."""
        return prepared.closed(int(point), self.options.seconds)

    def report(self, r: Results) -> list[str]:
        """Rates and latencies."""
        heads = [f"{p} conn." for p in self.points]
        return [
            *tables.rates(r, self.points, heads),
            *tables.latencies(r, self.points, heads),
            *tables.multiples(r, self.points, heads),
        ]

    def plots(self, r: Results) -> dict[str, Any]:
        """Rates and medians by connections."""
        panels = [
            tables.curve(r, self.points, "rate", "correct answers a second"),
            tables.curve(r, self.points, "p50", "median, ms", 1e-3),
        ]
        return {self.name: {"panels": panels, "x": self.axis}} if self.axis else {}


class Onnx(Loop):
    """A network whose weights come in a wheel."""

    name = "onnx"
    title = "A network on onnxruntime"
    work = "onnx"
    points = ("1", "16")
    peers = ("pinion", "coglet", "mosec", "litserve", "bentoml", "fastapi")
    text = """\
RapidOCR's classifier of text directions (0.6 MB of weights, from the wheel of rapidocr 3.10.0) on onnxruntime, one thread. A request is one
picture, 12 kB of base64 in JSON. No batches. In FastAPI it is a `def`, which runs in the thread pool; an `async def` would block the server."""


class Await(Loop):
    """1 ms of asyncio.sleep."""

    name = "await"
    title = "An async model that awaits 1 ms"
    work = "await"
    points = ("1", "64")
    peers = ("pinion", "coglet", "litserve", "bentoml", "fastapi")
    text = """\
The model awaits `asyncio.sleep(0.001)` and returns its input. All servers allow 64 predictions at once. FastAPI and LitServe use uvloop, and Pinion
asyncio with a selector in C; both have timers finer than a millisecond. coglet uses plain asyncio, which rounds up to whole milliseconds. MOSEC has no async workers."""


OPTIMUM = {n: 1000 * b / (5 + 0.1 * b) for n in (1, 8, 32, 64, 256) for b in [min(n, 32)]}


class Batch(Loop):
    """A batch of n takes 5 ms + 0.1 ms·n."""

    name = "batch"
    title = "Batches that take 5 ms + 0.1 ms·n, at most 32: each with its best wait"
    work = "batch"
    axis = "clients"
    points = ("1", "8", "32", "64", "256")
    peers = ("bare", "pinion", "mosec", "litserve", "bentoml", "ventu", "pinion-batching")
    waits: ClassVar = {"mosec": "2", "litserve": "2", "ventu": "2"}
    text = """\
The model sleeps, so the row measures how well a server forms batches. The waits of Pinion and BentoML adapt. The others wait 2 ms, which was better
for them than their defaults. Pinion asks the kernel to end the model's waits punctually, which saves about 50 µs of each sleep, 1 % at one client.
The optimum is n/(5 ms + 0.1 ms·n) for n clients, and 3 902 a second from 32 clients on. With 64 and more a server can reach it; with fewer, all
clients must return together. The bare handler shows how near this machine allows a server to come: it sleeps itself, without Python or a worker,
and knows the number of clients."""

    def wanted(self, peer: Peer) -> dict[str, Any]:
        """Set the longest wait of a batch."""
        return {"wait_ms": self.waits.get(peer.name, "")}

    def warm(self, server: Server, prepared: Load) -> None:
        """Those that adapt need a while, at both ends."""
        prepared.closed(64, 2)
        prepared.closed(1, 1)

    def report(self, r: Results) -> list[str]:
        """Add the share of the optimum."""

        def share(peer: str, point: str) -> str:
            found = r.median(peer, point, "rate")
            return "" if found is None else f"{found / OPTIMUM[int(point)]:.1%}"

        heads = [f"{p} clients" if p != "1" else "1 client" for p in self.points]
        return [
            "Share of the optimum:",
            "",
            *tables.grid(r, self.points, heads, share),
            *(tables.shares(r, self.points, heads, ("bare",)) if "bare" in r.peers() else []),
            *super().report(r),
        ]


class BatchDefault(Batch):
    """As Batch, nothing set but the size."""

    name = "batch-default"
    title = "The same batches, nothing set but their size"
    points = ("1", "64")
    peers = ("pinion", "mosec", "litserve", "ray", "ventu")
    waits: ClassVar = {}
    text = """\
As above with each server's default wait (MOSEC, Ray Serve and batching 10 ms, LitServe none). BentoML had its defaults above too."""


class OnnxBatch(Batch):
    """A network whose batches save little: what a server does for each request counts."""

    name = "onnx-batch"
    title = "A small network in batches of at most 16"
    work = "onnx-batch"
    points = ("1", "16", "64")
    peers = (
        *("pinion", "pinion-arrays", "mosec", "mosec-2ms", "mosec-1ms", "mosec-single"),
        *("litserve", "bentoml", "fastapi"),
    )
    waits: ClassVar = {"litserve": "2"}
    text = """\
A perceptron 784-256-10 with random weights on onnxruntime, one thread. A request is 784 numbers in JSON, 15 kB; the answer is the class. Each
server's model makes one array from the lists of a batch. Pinion's second model declares its input as an array and gets no lists; the others have no
such inputs. Pinion has only the size set. MOSEC has its default wait of 10 ms, 2 ms, 1 ms (its minimum), and no batches. LitServe waits 2 ms, BentoML
adapts, FastAPI makes no batches."""

    def run(self) -> None:
        """Write the network first."""
        from lib import network

        network.path()
        super().run()

    def report(self, r: Results) -> list[str]:
        """Report as any loop does, since there is no optimum; add CPU time, which other load changes least."""
        heads = [f"{p} conn." for p in self.points]
        return [
            *Loop.report(self, r),
            "CPU time of a request, µs, all processes of the server:",
            "",
            *tables.grid(r, self.points, heads, lambda p, c: tables.value(r, p, c, "cpu")),
        ]
