"""Pinion beside a bare fasthttp handler: rates, latencies and CPU time as ratios.

The servers run at the same time and are loaded in turn, round after round, so
that what the machine does meanwhile hits all alike. Standard library only;
`bench/echo.sh` builds what it needs and calls it.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import signal
import statistics
import subprocess
import sys
import time
import urllib.request
from dataclasses import dataclass, field
from pathlib import Path

HERE = Path(__file__).resolve().parent
TICK = os.sysconf("SC_CLK_TCK")


@dataclass
class Server:
    """A server under test."""

    name: str
    process: subprocess.Popen[bytes]
    url: str
    rounds: dict[int, list[dict[str, float]]] = field(default_factory=dict)

    def cpu(self) -> float:
        """Seconds of CPU that the server and its children have used."""
        total = 0.0
        for pid in [self.process.pid, *children(self.process.pid)]:
            fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
            total += (int(fields[11]) + int(fields[12])) / TICK
        return total


def children(pid: int) -> list[int]:
    """Return the pids of a process's children."""
    found: list[int] = []
    for task in Path(f"/proc/{pid}/task").iterdir():
        found += map(int, (task / "children").read_text().split())
    return found


def wait_for(url: str, process: subprocess.Popen[bytes], ready: str | None) -> None:
    """Wait until a server answers; ready is a word of its health document."""
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        if process.poll() is not None:
            sys.exit(f"{url} ended with code {process.returncode}")
        try:
            with urllib.request.urlopen(url, timeout=5) as answer:
                if ready is None or json.load(answer)["status"] == ready:
                    return
        except urllib.error.HTTPError:
            if ready is None:
                return  # it answers, if only with a 400 to a GET
        except OSError:
            pass
        time.sleep(0.02)
    sys.exit(f"{url} did not come up")


def start_bare(port: int) -> Server:
    """Start the yardstick."""
    process = subprocess.Popen([HERE.parent / "bin/bench-bare", "-address", f"127.0.0.1:{port}"])
    wait_for(f"http://127.0.0.1:{port}/", process, None)
    return Server("bare fasthttp + sonic", process, f"http://127.0.0.1:{port}")


def start_pinion(name: str, model: str, port: int) -> Server:
    """Start Pinion with one of the models beside this file."""
    command = [HERE.parent / "bin/pinion", "serve", HERE / "models" / model, "--queue", "1024"]
    process = subprocess.Popen(
        [*map(str, command), "--host", "127.0.0.1", "--port", str(port), "--log-level", "error"]
    )
    wait_for(f"http://127.0.0.1:{port}/health-check", process, "READY")
    return Server(name, process, f"http://127.0.0.1:{port}")


def load(server: Server, connections: int, seconds: float, size: int) -> dict[str, float]:
    """Run wrk once and return what it and the process table say."""
    before = server.cpu()
    run = subprocess.run(
        [
            "wrk",
            "-t1",
            f"-c{connections}",
            f"-d{seconds:g}s",
            "--latency",
            "-s",
            str(HERE / "echo.lua"),
            server.url,
        ],
        env={**os.environ, "SIZE": str(size)},
        capture_output=True,
        text=True,
        check=True,
    )
    found = re.search(r"RESULT (.*)", run.stdout)
    if not found:
        sys.exit(run.stdout + run.stderr)
    values = {key: float(value) for key, value in (part.split("=") for part in found[1].split())}
    if values["wrong"] or values["errors"]:
        sys.exit(f"{server.name}: wrong answers: {found[1]}")
    return {
        "rate": values["requests"] / values["us"] * 1e6,
        "p50": values["p50"],
        "p99": values["p99"],
        "cpu": (server.cpu() - before) / values["requests"] * 1e6,
    }


def report(servers: list[Server], connections: list[int]) -> None:
    """Print medians, and their ratios to the first server's."""
    print(
        f"\n{'':26}{'rate/s':>9}{'ratio':>7}{'p50 µs':>8}{'+µs':>7}{'p99 µs':>8}{'CPU µs':>8}{'ratio':>7}"
    )
    for count in connections:
        print(f"{count} connection{'s' if count > 1 else ''}")
        base: dict[str, float] = {}
        for server in servers:
            rounds = server.rounds[count]
            m = {key: statistics.median(r[key] for r in rounds) for key in rounds[0]}
            base = base or m
            # The ratio of medians would compare different moments: take the median of each round's ratio.
            ratio = statistics.median(
                r["rate"] / b["rate"] for r, b in zip(rounds, servers[0].rounds[count], strict=True)
            )
            added = statistics.median(
                r["p50"] - b["p50"] for r, b in zip(rounds, servers[0].rounds[count], strict=True)
            )
            print(
                f"  {server.name:24}{m['rate']:9.0f}{ratio:7.2f}{m['p50']:8.0f}{added:7.0f}"
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
    servers: list[Server] = []
    try:
        servers.append(start_bare(args.port))
        for i, model in enumerate(["sync", "async", "async32"], start=1):
            if args.only in ("", model):
                servers.append(start_pinion(f"pinion, {model} model", model, args.port + i))
        for server in servers:
            load(server, 8, 1, args.size)  # warm up
        for _ in range(args.rounds):
            for count in connections:
                for server in servers:
                    server.rounds.setdefault(count, []).append(
                        load(server, count, args.seconds, args.size)
                    )
        report(servers, connections)
    finally:
        for server in servers:
            server.process.send_signal(signal.SIGTERM)
        for server in servers:
            server.process.wait()


if __name__ == "__main__":
    main()
