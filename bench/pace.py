"""Tokens at the pace of a language model, to many streams: CPU time of a token, and the gaps between tokens.

All servers run at the same time and are asked in turn, round after round, so that other load of the machine affects
all alike. The ratio is the median of each round's ratio to the first server.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import re
import selectors
import socket
import statistics
import subprocess
import sys
import time
from pathlib import Path

from lib import processes
from lib.options import BENCH, ROOT
from lib.serving import PINION, BenchError, Server, free_port, pinion, serving

KINDS = {"native": "/predictions", "chat": "/v1/chat/completions"}
TOKEN = re.compile(rb'"(?:chunk|content)": ?"token "')
Figures = dict[str, float]


def request(kind: str, tokens: int, pace: float) -> bytes:
    """Return the request of one stream."""
    chat = {"messages": [{"role": "user", "content": "go"}], "max_tokens": tokens}
    if kind == "native":
        body = json.dumps({"input": chat | {"pace": pace}}).encode()
    else:
        body = json.dumps(chat | {"model": "bench", "stream": True}).encode()
    head = (
        f"POST {KINDS[kind]} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
        f"Accept: text/event-stream\r\nConnection: close\r\nContent-Length: {len(body)}\r\n\r\n"
    )
    return head.encode() + body


def used(server: Server) -> tuple[float, float]:
    """Return the seconds of CPU of a server's first process, and of those below it."""
    first, *others = processes.tree(server.process.pid)
    return processes.cpu([first]), processes.cpu(others)


def load(server: Server, kind: str, streams: int, tokens: int, pace: float) -> Figures:
    """Read streams at once, and return the figures."""
    ready, gaps, firsts = selectors.DefaultSelector(), [], []
    seen: dict[socket.socket, list[float]] = {}  # tokens, and when the last came
    body, before = request(kind, tokens, pace), used(server)
    for _ in range(streams):
        connection = socket.create_connection(("127.0.0.1", server.port), timeout=60)
        connection.sendall(body)
        seen[connection] = [0, time.perf_counter()]
        ready.register(connection, selectors.EVENT_READ)
    while ready.get_map():
        if not (events := ready.select(60)):
            raise BenchError(f"{server.name}: nothing came for a minute")
        for key, _ in events:
            part = key.fileobj.recv(1 << 16)  # type: ignore[union-attr]
            now, state = time.perf_counter(), seen[key.fileobj]  # type: ignore[index]
            if not part:
                ready.unregister(key.fileobj)
                key.fileobj.close()  # type: ignore[union-attr]
            elif count := len(TOKEN.findall(part)):
                (gaps if state[0] else firsts).append(now - state[1])
                state[0] += count
                state[1] = now
    after = used(server)
    if any(count != tokens for count, _ in seen.values()):
        counts = sorted({count for count, _ in seen.values()})
        raise BenchError(f"{server.name} sent {counts} tokens to a stream, not {tokens}")
    front, workers = (
        1e6 * (b - a) / (streams * tokens) for a, b in zip(before, after, strict=True)
    )
    late = statistics.quantiles(gaps, n=100)
    return {
        "cpu": front + workers,
        "front": front,
        "workers": workers,
        "median": 1e3 * statistics.median(gaps),
        "p99": 1e3 * late[98],
        "first": 1e3 * statistics.median(firsts),
    }


def connects(server: Server) -> bool:
    """Tell whether a server listens; raises OSError if it does not."""
    socket.create_connection(("127.0.0.1", server.port)).close()
    return True


def report(kind: str, streams: int, rounds: dict[str, list[Figures]]) -> None:
    """Print the medians of a load: times of CPU in µs a token, the others in ms."""
    base = next(iter(rounds.values()))
    print(f"\n{kind}, {streams} streams")
    head = f"{'':22}{'CPU':>8}{'ratio':>7}{'first process':>15}{'others':>8}"
    print(f"{head}{'gap p50':>12}{'p99':>7}{'first':>7}")
    for name, figures in rounds.items():
        m = {key: statistics.median(f[key] for f in figures) for key in figures[0]}
        ratio = statistics.median(f["cpu"] / b["cpu"] for f, b in zip(figures, base, strict=True))
        print(
            f"{name:22}{m['cpu']:8.1f}{ratio:7.2f}{m['front']:15.1f}{m['workers']:8.1f}"
            f"{m['median']:12.2f}{m['p99']:7.2f}{m['first']:7.2f}"
        )


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(prog="bench/pace.sh", description=__doc__)
    add = parser.add_argument
    add("--streams", default="64,256", help="comma separated; default 64,256")
    add("--kinds", default="native,chat", help="comma separated; default native,chat")
    add("--pace", type=float, default=20, help="milliseconds between tokens; default 20")
    add("--tokens", type=int, default=100, help="of each stream; default 100")
    add("--rounds", type=int, default=5)
    add("--only", default="", help="servers, comma separated: fastapi, bare; default both")
    add("--pinion", type=Path, default=PINION)
    add("--ref", type=Path, help="another commit's binary; bench/pace.sh --ref COMMIT makes it")
    add("--name", default="other", help="what to call that commit")
    add("--fastapi", default=sys.executable, help="the Python that has FastAPI")
    args = parser.parse_args()
    model, only = BENCH / "models/pace", args.only.split(",") if args.only else ["fastapi", "bare"]
    flags = ("--model", "bench", "--queue", 1024, "--log-level", "error")
    quiet = {"stdout": subprocess.DEVNULL}
    up = [pinion("Pinion", model, *flags, binary=args.pinion, **quiet)]
    if args.ref:
        up.append(pinion(f"Pinion {args.name}", model, *flags, binary=args.ref, **quiet))
    if "fastapi" in only:
        port = free_port()
        command = [args.fastapi, "-m", "uvicorn", "pace_service:app", "--host", "127.0.0.1"]
        command += ["--port", port, "--no-access-log", "--log-level", "error"]
        folder = BENCH / "protocols"
        up.append(
            serving(
                "FastAPI, uvloop",
                command,
                port,
                lambda s: s.ask("/openapi.json"),
                cwd=folder,
                **quiet,
            )
        )
    if "bare" in only:
        port = free_port()
        command = [ROOT / "bin/bench-bare", "-tokens", "-address", f"127.0.0.1:{port}"]
        up.append(serving("bare fasthttp", command, port, connects, **quiet))
    with contextlib.ExitStack() as stack:
        servers = [stack.enter_context(server) for server in up]
        for kind in args.kinds.split(","):
            of_kind = [s for s in servers if kind == "native" or s.name != "bare fasthttp"]
            for streams in map(int, args.streams.split(",")):
                rounds: dict[str, list[Figures]] = {s.name: [] for s in of_kind}
                for turn in range(-1, args.rounds):  # the first warms up
                    for server in of_kind if turn % 2 else reversed(of_kind):
                        figures = load(server, kind, streams, args.tokens, args.pace / 1e3)
                        if turn >= 0:
                            rounds[server.name].append(figures)
                report(kind, streams, rounds)


if __name__ == "__main__":
    main()
