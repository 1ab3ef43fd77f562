"""This checkout beside another commit: rate, CPU time, start and memory, as ratios with their spread.

Both servers run at the same time and are loaded in turn, round after round, so that other load of the machine
affects both alike. A ratio is this checkout's figure divided by the other one's in the same round. The table has
the median and, in brackets, the lowest and the highest. Starts are compared by the CPU time until the first
worker is ready, which other load disturbs less than wall time. `bench/compare.sh` builds both and calls it.
"""

from __future__ import annotations

import argparse
import contextlib
import statistics
import time
from pathlib import Path

import echo
from lib import processes, wrk
from lib.options import BENCH
from lib.serving import PINION, Server, pinion

Figures = dict[str, float]

LOAD = {
    "rate": "rate, 1/s",
    "front user": "front, user CPU, µs",
    "front system": "front, system CPU, µs",
    "worker user": "worker, user CPU, µs",
    "worker system": "worker, system CPU, µs",
}
START = {
    "front": "front, CPU until ready, ms",
    "worker": "worker, CPU until ready, ms",
    "ready": "start to READY, ms",
    "memory": "PSS of both, MiB",
}


def used(server: Server) -> Figures:
    """Return the seconds of CPU that the front and its workers have used."""
    front, *workers = processes.tree(server.process.pid)
    values: Figures = {}
    for name, pids in (("front", [front]), ("worker", workers)):
        fields = [Path(f"/proc/{p}/stat").read_text().rsplit(")", 1)[1].split() for p in pids]
        for kind, at in (("user", 11), ("system", 12)):
            values[f"{name} {kind}"] = sum(int(f[at]) for f in fields) / processes.TICK
    return values


def exact(pid: int) -> float:
    """Return the milliseconds of CPU that the threads of a process have used."""
    files = Path(f"/proc/{pid}/task").glob("*/schedstat")
    return sum(int(f.read_text().split()[0]) for f in files) / 1e6


def load(server: Server, connections: int, seconds: int, request: dict[str, str]) -> Figures:
    """Load a server once."""
    before = used(server)
    values = wrk.figures(wrk.command(server.port, connections, seconds), request)
    wrk.faultless(server.name, values)
    after = used(server)
    figures = {"rate": values["requests"] / values["us"] * 1e6}
    return figures | {k: (after[k] - before[k]) / values["requests"] * 1e6 for k in before}


def start(binary: str) -> Figures:
    """Start a server, and return the CPU time of the start, and its memory."""
    began = time.monotonic()
    with serve("start", binary) as server:
        ready = (time.monotonic() - began) * 1e3
        front, *workers = processes.tree(server.process.pid)
        figures = {"front": exact(front), "worker": sum(map(exact, workers)), "ready": ready}
        server.ask("/predictions", {"input": {"text": "x"}})
        return figures | {"memory": processes.memory([front, *workers])}


def serve(name: str, binary: str) -> contextlib.AbstractContextManager[Server]:
    """Run a server of the synchronous model."""
    flags = ("--queue", 1024, "--log-level", "error")
    return pinion(name, BENCH / "models/sync", *flags, binary=binary)


def report(title: str, names: dict[str, str], other: list[Figures], this: list[Figures]) -> None:
    """Print a table of both and of their ratios."""
    print(f"\n| {title} | other | this | ratio (spread) |\n|---|---|---|---|")
    for key, name in names.items():
        ratios = [t[key] / o[key] for o, t in zip(other, this, strict=True) if o[key]]
        if not ratios:
            continue
        middle = [statistics.median(f[key] for f in figures) for figures in (other, this)]
        spread = f"{statistics.median(ratios):.2f} ({min(ratios):.2f} to {max(ratios):.2f})"
        print(f"| {name} | {middle[0]:.4g} | {middle[1]:.4g} | {spread} |")


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--ref", required=True, help="the other commit's binary")
    parser.add_argument("--name", default="other", help="what to call that commit")
    parser.add_argument("--this", default=PINION, help="this checkout's binary")
    parser.add_argument("--connections", default="1,8,64", help="comma separated; default 1,8,64")
    parser.add_argument("--rounds", type=int, default=7, help="of load; default 7")
    parser.add_argument("--starts", type=int, default=15, help="of each binary; default 15")
    parser.add_argument("--seconds", type=int, default=3, help="of each load; default 3")
    parser.add_argument("--size", type=int, default=16, help="bytes of text to echo; default 16")
    args = parser.parse_args()
    binaries = [str(args.ref), str(args.this)]
    print(f"other: {args.name}; {args.rounds} rounds of {args.seconds} s, {args.starts} starts")
    starts: list[list[Figures]] = [[], []]
    for turn in range(args.starts):
        for at in (0, 1) if turn % 2 == 0 else (1, 0):
            starts[at].append(start(binaries[at]))
    report("start", START, *starts)
    with contextlib.ExitStack() as stack:
        servers = [stack.enter_context(serve(b, b)) for b in binaries]
        request = stack.enter_context(echo.request(args.size))
        for server in servers:
            load(server, 8, 1, request)  # warm up
        for count in map(int, args.connections.split(",")):
            rounds: list[list[Figures]] = [[], []]
            for turn in range(args.rounds):
                for at in (0, 1) if turn % 2 == 0 else (1, 0):
                    rounds[at].append(load(servers[at], count, args.seconds, request))
            report(f"{count} connection{'s' if count > 1 else ''}", LOAD, *rounds)


if __name__ == "__main__":
    main()
