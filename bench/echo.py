"""Pinion beside a bare fasthttp handler: rates, latencies and CPU time as ratios.

The servers run at the same time and are loaded in turn, round after round, so
that other load of the machine affects all alike. Standard library only;
`bench/echo.sh` builds what it needs and calls it.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import statistics
import tempfile
from collections.abc import Iterator

from lib import wrk
from lib.options import BENCH, ROOT
from lib.serving import Server, pinion, serving

Rounds = dict[int, list[dict[str, float]]]  # by connections


@contextlib.contextmanager
def request(size: int) -> Iterator[dict[str, str]]:
    """Return load.lua's arguments for a text of so many bytes. Its file is removed afterwards."""
    text = "x" * size
    with tempfile.NamedTemporaryFile("w") as body:
        json.dump({"input": {"text": text}}, body)
        body.flush()
        # The environment of a process cannot hold more than 128 kB.
        expected = f'"output":"{text}"'[: 1 << 16]
        yield {"BODY": body.name, "EXPECT": expected, "REQUEST_PATH": "/predictions"}


def load(
    server: Server, connections: int, seconds: float, request: dict[str, str]
) -> dict[str, float]:
    """Run wrk once, and return its figures and the CPU time of the server."""
    before = server.cpu()
    values = wrk.figures(wrk.command(server.port, connections, seconds), request)
    wrk.faultless(server.name, values)
    return {
        "rate": values["requests"] / values["us"] * 1e6,
        "p50": values["p50"],
        "p99": values["p99"],
        "cpu": (server.cpu() - before) / values["requests"] * 1e6,
    }


def report(results: dict[str, Rounds], connections: list[int]) -> None:
    """Print medians, and their ratios to the first server's."""
    print(
        f"\n{'':26}{'rate/s':>9}{'ratio':>7}{'p50 µs':>8}{'+µs':>7}{'p99 µs':>8}{'CPU µs':>8}{'ratio':>7}"
    )
    first = next(iter(results.values()))
    for count in connections:
        print(f"{count} connection{'s' if count > 1 else ''}")
        base: dict[str, float] = {}
        for name, figures in results.items():
            rounds = figures[count]
            m = {key: statistics.median(r[key] for r in rounds) for key in rounds[0]}
            base = base or m
            # The ratio of medians would compare different moments: take the median of each round's ratio.
            pairs = list(zip(rounds, first[count], strict=True))
            ratio = statistics.median(r["rate"] / b["rate"] for r, b in pairs)
            added = statistics.median(r["p50"] - b["p50"] for r, b in pairs)
            print(
                f"  {name:24}{m['rate']:9.0f}{ratio:7.2f}{m['p50']:8.0f}{added:7.0f}"
                f"{m['p99']:8.0f}{m['cpu']:8.1f}{m['cpu'] / base['cpu']:7.2f}"
            )


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--connections", default="1,8,64", help="comma separated; default 1,8,64")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=3, help="of each run")
    parser.add_argument("--size", type=int, default=16, help="bytes of text to echo")
    parser.add_argument("--port", type=int, default=5990, help="the first of four ports")
    parser.add_argument(
        "--only", default="", help="name of a model beside the bare server: sync, async or async32"
    )
    args = parser.parse_args()
    connections = [int(c) for c in args.connections.split(",")]
    with contextlib.ExitStack() as stack:
        body = stack.enter_context(request(args.size))
        bare = [ROOT / "bin/bench-bare", "-address", f"127.0.0.1:{args.port}"]
        up = [
            serving("bare fasthttp + sonic", bare, args.port, lambda s: s.ask("/", {"input": {}}))
        ]
        flags = ("--queue", 1024, "--log-level", "error")
        for port, model in enumerate(("sync", "async", "async32"), start=args.port + 1):
            if args.only in ("", model):
                up.append(
                    pinion(f"pinion, {model} model", BENCH / "models" / model, *flags, port=port)
                )
        servers = [stack.enter_context(server) for server in up]
        for server in servers:
            load(server, 8, 1, body)  # warm up
        results: dict[str, Rounds] = {s.name: {c: [] for c in connections} for s in servers}
        for _ in range(args.rounds):
            for count in connections:
                for server in servers:
                    results[server.name][count].append(load(server, count, args.seconds, body))
        report(results, connections)


if __name__ == "__main__":
    main()
