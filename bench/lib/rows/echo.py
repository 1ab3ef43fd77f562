"""Echo of a short string, in a closed loop."""

from __future__ import annotations

from lib import tables
from lib.results import Results
from lib.rows.loops import Loop


class Echo(Loop):
    """wrk with 1 to 256 connections."""

    name = "echo"
    title = "Echo of 16 characters"
    axis = "connections"
    points = ("1", "8", "32", "64", "256")
    peers = (
        *("bare", "pinion", "pinion-async", "pinion-async32", "coglet", "coglet-async32", "mosec"),
        *("litserve", "bentoml", "fastapi", "fastapi-granian", "ray", "ventu", "pinion-batching"),
    )
    text = """\
wrk with one thread in a closed loop: a connection sends its next request after its answer. The model returns its input, so the row measures
everything except a model. Pinion, coglet and the bare handler answer a whole prediction object (id, times, metrics). The others answer only
`{"output": …}`. Latencies include refusals."""

    def report(self, r: Results) -> list[str]:
        """Rates, ratios, latencies, CPU time."""
        heads = [f"{p} conn." for p in self.points]
        return [
            *tables.rates(
                r,
                self.points,
                heads,
                "Correct answers a second (± half of the range of the rounds):",
            ),
            *tables.shares(r, self.points, heads),
            *tables.latencies(r, self.points, heads),
            "CPU seconds for a thousand correct answers, all processes of the server (and how many times the bare handler's), refusals included:",
            "",
            *tables.grid(r, self.points, heads, lambda p, c: processor(r, p, c)),
        ]


def processor(r: Results, peer: str, point: str) -> str:
    """Write CPU seconds for a thousand requests: so many ms for one."""
    found = tables.value(r, peer, point, "cpu", 1e-3)
    times = tables.ratio(r, peer, point, "cpu")
    return f"{found} ({times})" if found and times and peer != "bare" else found
