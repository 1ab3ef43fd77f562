"""How soon a prediction that is canceled has ended."""

from __future__ import annotations

import http.client
import json
import statistics
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from lib import tables
from lib.results import Results
from lib.rows.base import Row
from lib.server import Server
from lib.serving import BenchError


class Cancel(Row):
    """PUT in one thread, POST …/cancel in another."""

    name = "cancel"
    points = ("loop", "sleep")  # what it does meanwhile
    title = "Cancel"
    work = "cancel"
    peers = ("pinion", "coglet")
    text = """\
From the request to cancel a prediction to the answer of the client that waits for it. The prediction would take two seconds, in a Python loop
or in one `time.sleep`. The others have no cancel. If a client disconnects, MOSEC, LitServe and BentoML compute to the end."""

    def prepare(self, server: Server) -> None:
        """Nothing is needed."""

    def warm(self, server: Server, prepared: Any) -> None:
        """Cancel once."""
        once(server, "loop", "warm")

    def sample(self, server: Server, prepared: Any, point: str) -> dict[str, float]:
        """Cancel five times."""
        found = [once(server, point, f"c{time.monotonic_ns()}") * 1e6 for _ in range(5)]
        return {"p50": statistics.median(found), "p99": max(found)}

    def report(self, r: Results) -> list[str]:
        """Median and worst."""
        heads = ["busy loop", "`time.sleep`"]
        return tables.latencies(r, self.points, heads, "Median and longest, ms:")


def call(server: Server, method: str, path: str, body: bytes = b"") -> bytes:
    """Send a request."""
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=30)
    connection.request(method, path, body, {"Content-Type": "application/json"})
    return connection.getresponse().read()


def once(server: Server, how: str, name: str) -> float:
    """Begin a prediction, cancel it, and return the seconds until it has ended.

    coglet may have reported the end of the last one before it freed its slot: then it is asked again.
    """
    for attempt in range(100):
        took, answer = begin_and_cancel(server, how, f"{name}-{attempt}")
        if answer.get("status") in ("canceled", "succeeded"):
            return took
        if "capacity" not in answer.get("error", ""):
            break
    raise BenchError(f"{server.peer.title}: {answer}")


def begin_and_cancel(server: Server, how: str, name: str) -> tuple[float, dict[str, Any]]:
    """Return the seconds, and the answer to the client that waited."""
    with ThreadPoolExecutor(1) as pool:
        body = server.request({"how": how})
        waiting = pool.submit(call, server, "PUT", f"/predictions/{name}", body)
        time.sleep(0.1)
        began = time.perf_counter()
        call(server, "POST", f"/predictions/{name}/cancel")
        answer = json.loads(waiting.result())
        return time.perf_counter() - began, answer
