"""What traces cost: Pinion without them, with 1 % and with all of its requests sampled.

The servers run at the same time and are loaded in turn, round after round, as in `echo.py`.
`bench/tracing.sh` builds what it needs and calls it.
"""

from __future__ import annotations

import argparse
import os
import re
import signal
import subprocess
import time
import urllib.request

import echo

RATIOS = {"off": None, "1 %": "0.01", "100 %": "1"}


def start_sink(port: int) -> subprocess.Popen[bytes]:
    """Start the collector."""
    command = [echo.HERE.parent / "bin/bench-sink", "-address", f"127.0.0.1:{port}"]
    process = subprocess.Popen(command)
    echo.wait_for(f"http://127.0.0.1:{port}/", process, None)
    return process


def start(name: str, ratio: str | None, port: int, sink: int, pinion: str) -> echo.Server:
    """Start Pinion with that share of its requests sampled; None: traces are off."""
    env = {key: value for key, value in os.environ.items() if not key.startswith("OTEL_")}
    if ratio is not None:
        env |= {
            "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": f"http://127.0.0.1:{sink}/v1/traces",
            "OTEL_TRACES_SAMPLER": "parentbased_traceidratio",
            "OTEL_TRACES_SAMPLER_ARG": ratio,
        }
    model = str(echo.HERE / "models/sync")
    command = [pinion, "serve", model, "--queue", "1024", "--host", "127.0.0.1"]
    process = subprocess.Popen([*command, "--port", str(port), "--log-level", "error"], env=env)
    echo.wait_for(f"http://127.0.0.1:{port}/health-check", process, "READY")
    return echo.Server(name, process, f"http://127.0.0.1:{port}")


def dropped(server: echo.Server) -> float:
    """Return how many spans the server dropped."""
    with urllib.request.urlopen(server.url + "/metrics", timeout=10) as answer:
        found = re.search(r'telemetry_dropped_total{signal="traces"} (\S+)', answer.read().decode())
    return float(found[1]) if found else 0


def measure(servers: list[echo.Server], connections: list[int], args: argparse.Namespace) -> None:
    """Load the servers in turn."""
    for server in servers:
        echo.load(server, 8, 1, args.size)  # warm up
    for turn in range(args.rounds):
        for count in connections:
            for server in servers if turn % 2 == 0 else servers[::-1]:
                figures = echo.load(server, count, args.seconds, args.size)
                server.rounds.setdefault(count, []).append(figures)
                time.sleep(args.pause)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--connections", default="64", help="comma separated; default 64")
    parser.add_argument("--rounds", type=int, default=6)
    parser.add_argument("--seconds", type=float, default=3, help="of each run")
    parser.add_argument("--pause", type=float, default=0.2, help="seconds after each run")
    parser.add_argument("--size", type=int, default=16, help="bytes of text to echo")
    parser.add_argument("--port", type=int, default=5970, help="the first of four ports")
    parser.add_argument("--pinion", default=str(echo.HERE.parent / "bin/pinion"))
    args = parser.parse_args()
    connections = [int(c) for c in args.connections.split(",")]
    sink = start_sink(args.port)
    servers: list[echo.Server] = []
    try:
        for i, (name, ratio) in enumerate(RATIOS.items(), start=1):
            servers.append(start(name, ratio, args.port + i, args.port, args.pinion))
        measure(servers, connections, args)
        echo.report(servers, connections)
        for server in servers:
            print(f"{server.name}: {dropped(server):.0f} spans dropped")
    finally:
        for server in servers:
            server.process.send_signal(signal.SIGTERM)
            server.process.wait()
        sink.terminate()
        sink.wait()


if __name__ == "__main__":
    main()
