"""Echo of a short string, in a closed loop."""

from __future__ import annotations

from typing import Any

from lib import tables
from lib.load import Load
from lib.options import Options
from lib.results import Results
from lib.rows.base import Row
from lib.server import Server

POINTS = ["1", "8", "32", "64", "256"]


class Echo(Row):
    """wrk with 1 to 256 connections."""

    name = "echo"
    title = "Echo of 16 characters"
    peers = (
        *("bare", "pinion", "pinion-async", "pinion-async32", "coglet", "coglet-async32", "mosec"),
        *("litserve", "bentoml", "fastapi", "ray", "ventu", "pinion-batching"),
    )
    text = """\
wrk with one thread in a closed loop: a connection sends its next request after its answer. The model returns its input, so the row measures
everything except a model. Pinion, coglet and the bare handler answer a whole prediction object (id, times, metrics). The others answer only
`{"output": …}`. Latencies include refusals."""

    def points(self, options: Options) -> list[str]:
        """Return numbers of connections."""
        return POINTS

    def sample(
        self, server: Server, prepared: Load, point: str, options: Options
    ) -> dict[str, float]:
        """Run wrk."""
        return prepared.closed(int(point), options.seconds)

    def report(self, r: Results) -> list[str]:
        """Rates, ratios, latencies, CPU time."""
        heads = [f"{p} conn." for p in POINTS]
        return [
            "Correct answers a second (± half of the range of the rounds):",
            "",
            *tables.grid(r, POINTS, heads, lambda p, c: tables.rate(r, p, c)),
            "Share of the bare handler's rate in the same round:",
            "",
            *tables.grid(r, POINTS, heads, lambda p, c: tables.ratio(r, p, c, "rate")),
            "Median and 99th percentile, ms:",
            "",
            *tables.grid(r, POINTS, heads, lambda p, c: tables.latency(r, p, c)),
            "CPU seconds for a thousand correct answers, all processes of the server (and how many times the bare handler's), refusals included:",
            "",
            *tables.grid(r, POINTS, heads, lambda p, c: processor(r, p, c)),
        ]

    def plots(self, r: Results) -> dict[str, Any]:
        """Rates and medians by connections."""
        return {
            "echo": {
                "panels": [
                    tables.curve(r, POINTS, "rate", "correct answers a second"),
                    tables.curve(r, POINTS, "p50", "median, ms", 1e-3),
                ],
                "x": "connections",
            }
        }


def processor(r: Results, peer: str, point: str) -> str:
    """Write CPU seconds for a thousand requests: so many ms for one."""
    found = tables.value(r, peer, point, "cpu", 1e-3)
    times = tables.ratio(r, peer, point, "cpu")
    return f"{found} ({times})" if found and times and peer != "bare" else found
