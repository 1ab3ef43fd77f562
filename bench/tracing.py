"""What traces cost: Pinion without them, with 1 % and with all of its requests sampled.

The servers run at the same time and are loaded in turn, round after round, as in `echo.py`.
`bench/tracing.sh` builds what it needs and calls it.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import re
import time
import urllib.request

import echo
from lib.options import BENCH, ROOT
from lib.serving import PINION, Server, pinion, serving

RATIOS = {"off": None, "1 %": "0.01", "100 %": "1"}


def environment(ratio: str | None, sink: int) -> dict[str, str]:
    """Return the environment in which that share of the requests is sampled; None: traces are off."""
    env = {key: value for key, value in os.environ.items() if not key.startswith("OTEL_")}
    if ratio is not None:
        env |= {
            "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": f"http://127.0.0.1:{sink}/v1/traces",
            "OTEL_TRACES_SAMPLER": "parentbased_traceidratio",
            "OTEL_TRACES_SAMPLER_ARG": ratio,
        }
    return env


def dropped(server: Server) -> float:
    """Return how many spans the server dropped."""
    with urllib.request.urlopen(f"http://127.0.0.1:{server.port}/metrics", timeout=10) as answer:
        found = re.search(r'telemetry_dropped_total{signal="traces"} (\S+)', answer.read().decode())
    return float(found[1]) if found else 0


def measure(
    servers: list[Server], connections: list[int], args: argparse.Namespace
) -> dict[str, echo.Rounds]:
    """Load the servers in turn."""
    results: dict[str, echo.Rounds] = {s.name: {c: [] for c in connections} for s in servers}
    with echo.request(args.size) as body:
        for server in servers:
            echo.load(server, 8, 1, body)  # warm up
        for turn in range(args.rounds):
            for count in connections:
                for server in servers if turn % 2 == 0 else servers[::-1]:
                    results[server.name][count].append(echo.load(server, count, args.seconds, body))
                    time.sleep(args.pause)
    return results


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--connections", default="64", help="comma separated; default 64")
    parser.add_argument("--rounds", type=int, default=6)
    parser.add_argument("--seconds", type=float, default=3, help="of each run")
    parser.add_argument("--pause", type=float, default=0.2, help="seconds after each run")
    parser.add_argument("--size", type=int, default=16, help="bytes of text to echo")
    parser.add_argument("--port", type=int, default=5970, help="the first of four ports")
    parser.add_argument("--pinion", default=PINION)
    args = parser.parse_args()
    connections = [int(c) for c in args.connections.split(",")]
    with contextlib.ExitStack() as stack:
        sink = [ROOT / "bin/bench-sink", "-address", f"127.0.0.1:{args.port}"]
        stack.enter_context(serving("sink", sink, args.port, lambda s: s.ask("/") is None))
        flags = ("--queue", 1024, "--log-level", "error")
        servers = [
            stack.enter_context(
                pinion(
                    *(name, BENCH / "models/sync", *flags),
                    port=port,
                    binary=args.pinion,
                    env=environment(ratio, args.port),
                )
            )
            for port, (name, ratio) in enumerate(RATIOS.items(), start=args.port + 1)
        ]
        echo.report(measure(servers, connections, args), connections)
        for server in servers:
            print(f"{server.name}: {dropped(server):.0f} spans dropped")


if __name__ == "__main__":
    main()
