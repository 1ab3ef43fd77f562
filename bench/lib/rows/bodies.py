"""Echo of bodies from 1 kB to 10 MB."""

from __future__ import annotations

from typing import Any

from lib import tables
from lib.load import Load
from lib.peers import Peer
from lib.results import Results
from lib.rows.base import Row
from lib.server import Server

SIZES = {"1 kB": 1_000, "100 kB": 100_000, "1 MB": 1_000_000, "10 MB": 10_000_000}


class Bodies(Row):
    """wrk with one connection."""

    name = "bodies"
    points = tuple(SIZES)
    title = "Bodies of 1 kB to 10 MB, in and out"
    peers = ("bare", "pinion", "coglet", "mosec", "litserve", "bentoml", "fastapi")
    text = """\
The echo model with a long string, one connection, wrk. Latencies and ratios include the client's time. The bare handler decodes and encodes the same
string with sonic. MOSEC reads and writes JSON with msgspec here; FastAPI, LitServe and BentoML use pydantic's own code."""

    def skips(self, peer: Peer, point: str) -> bool:
        """Leave out what a server cannot take."""
        return SIZES[point] > peer.largest_body

    def prepare(self, server: Server) -> dict[str, Load]:
        """Return a load for each size; each is checked whole, once."""
        loads = {}
        for point, size in SIZES.items():
            if not self.skips(server.peer, point):
                value = {"text": "x" * size}
                _, body = server.ask_until_taken(value)
                server.expect(body, value["text"])
                loads[point] = Load(server, value, value["text"])
        return loads

    def warm(self, server: Server, prepared: dict[str, Load]) -> None:
        """Warm up with the small and the large."""
        for load in prepared.values():
            load.closed(1, 1)

    def sample(self, server: Server, prepared: Any, point: str) -> dict[str, float]:
        """Run wrk."""
        return prepared[point].closed(1, self.options.seconds)

    def report(self, r: Results) -> list[str]:
        """Medians of the time, ratios of the rates."""
        return [
            *tables.latencies(r, self.points, self.points),
            *tables.shares(r, self.points, self.points),
        ]
