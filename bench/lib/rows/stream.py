"""Streams of tokens."""

from __future__ import annotations

import socket
import statistics
import time
from typing import Any

from lib import tables
from lib.results import Results
from lib.rows.base import Row
from lib.server import Server
from lib.serving import BenchError


class Stream(Row):
    """One client reads one stream after the other."""

    name = "stream"
    points = ("1000", "20000")  # tokens
    title = "Streams of tokens"
    work = "stream"
    peers = ("pinion", "coglet", "mosec", "litserve", "bentoml", "fastapi")
    text = """\
A generator only yields `"token "`. One client opens a connection for each stream and counts tokens. The rate includes the time of the connection and
of the first token, which matters for 1 000 tokens but not for 20 000. Pinion, coglet and FastAPI send server-sent events with a JSON object each
(FastAPI by `json.dumps`), MOSEC sends events with plain text, LitServe and BentoML send plain text. Pinion sends each token when the model yields it;
tokens within 30 µs share a write."""

    def prepare(self, server: Server) -> None:
        """Nothing is needed."""

    def warm(self, server: Server, prepared: Any) -> None:
        """Read a long one."""
        read(server, 5000)

    def sample(self, server: Server, prepared: Any, point: str) -> dict[str, float]:
        """Read streams until the time is up."""
        length, firsts, rates = int(point), [], []
        end = time.monotonic() + self.options.seconds
        while time.monotonic() < end or not rates:
            first, whole = read(server, length)
            firsts.append(first * 1e6)
            rates.append(length / whole)
        return {
            "rate": statistics.median(rates),
            "p50": statistics.median(firsts),
            "p99": max(firsts),
        }

    def report(self, r: Results) -> list[str]:
        """Rates, ratios, first tokens."""
        heads = [f"{tables.number(float(p))} tokens" for p in self.points]
        return [
            *tables.rates(r, self.points, heads, "Tokens a second:"),
            *tables.multiples(r, self.points, heads),
            "First token, ms:",
            "",
            *tables.grid(r, self.points, heads, lambda p, c: tables.value(r, p, c, "p50", 1e-3)),
        ]


def read(server: Server, length: int) -> tuple[float, float]:
    """Read one stream: seconds to the first token and to the end. A refused one is asked for again."""
    for _ in range(100):
        found = attempt(server, length)
        if found:
            return found
        time.sleep(0.02)
    raise BenchError(f"{server.peer.title} refuses again and again")


def attempt(server: Server, length: int) -> tuple[float, float] | None:
    """Read one stream; None where the server had no room."""
    body = server.request({"n": length})
    head = (
        f"POST {server.peer.route('stream')} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
        f"Accept: {server.peer.accepts}\r\nConnection: close\r\nContent-Length: {len(body)}\r\n\r\n"
    )
    with socket.create_connection(("127.0.0.1", server.port), timeout=60) as connection:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        began = time.perf_counter()
        connection.sendall(head.encode() + body)
        first, parts, seen = 0.0, [], b""
        while part := connection.recv(1 << 20):
            if not first:
                seen += part
                if b"token" in seen:
                    first = time.perf_counter() - began
            parts.append(part)
        whole = time.perf_counter() - began
    answer = b"".join(parts)
    if b" 409 " in answer[:20]:
        return None
    header, _, rest = answer.partition(b"\r\n\r\n")
    text = join(answer) if b"chunked" in header.lower() else rest
    count = text.partition(b"event: completed")[0].count(
        b"token "
    )  # that event has the whole output again
    if count != length:
        raise BenchError(f"{server.peer.title} sent {count} of {length}: {answer[:400]!r}")
    return first, whole


def join(response: bytes) -> bytes:
    """Return the body of a response in the chunked transfer coding, whose chunks may cut a token anywhere."""
    rest = response.partition(b"\r\n\r\n")[2]
    parts = []
    while rest:
        size, _, rest = rest.partition(b"\r\n")
        length = int(size, 16)
        parts.append(rest[:length])
        rest = rest[length + 2 :]
        if length == 0:
            break
    return b"".join(parts)
