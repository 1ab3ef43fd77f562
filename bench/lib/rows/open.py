"""Echo at fixed rates, which do not wait for earlier answers."""

from __future__ import annotations

from lib import tables
from lib.load import Load
from lib.results import Results
from lib.rows.base import Row
from lib.server import Server


class Open(Row):
    """bench/load, an open loop."""

    name = "open"
    points = ("200", "1000", "4000")  # rates
    title = "Echo by the clock"
    peers = ("bare", "pinion", "coglet", "mosec", "litserve", "bentoml", "fastapi")
    text = """\
`bench/load` sends requests at a fixed rate over at most 256 connections, independent of earlier requests. A request's time counts from the moment at
which it was due, so a server that stalls is charged for everyone who waits (no coordinated omission). All figures include the client's own
lateness, 0.1 to 0.2 ms. If a server answered less than 95 % of the rate, it did not keep up, and no time is given: it would depend on the length of
the queue."""

    def sample(self, server: Server, prepared: Load, point: str) -> dict[str, float]:
        """Run bench/load."""
        return prepared.open(float(point), 256, self.options.seconds)

    def report(self, r: Results) -> list[str]:
        """Latencies where it kept up."""

        def cell(peer: str, point: str) -> str:
            found, refused = r.median(peer, point, "rate"), r.median(peer, point, "refused") or 0
            if found is None:
                return ""
            if refused > 0.005:
                return f"{refused:.0%} refused; {tables.latency(r, peer, point)}"
            if found < 0.95 * float(point):
                return f"only {tables.number(found)}/s"
            return tables.latency(r, peer, point)

        heads = [f"{rate}/s" for rate in self.points]
        return ["Median and 99th percentile, ms:", "", *tables.grid(r, self.points, heads, cell)]
