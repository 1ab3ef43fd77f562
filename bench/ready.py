"""Kills a model's worker again and again, and takes the time until the next one answers; then the memory of four workers."""

import argparse
import contextlib
import os
import signal
import statistics
import subprocess
import time
import urllib.error
from collections.abc import Iterator
from pathlib import Path

from lib import processes
from lib.options import BENCH
from lib.serving import Server, free_port, pinion, serving

WORKERS = 8


def up(server: Server) -> bool:
    """Tell whether a prediction was answered."""
    with contextlib.suppress(urllib.error.HTTPError, ConnectionError):  # not set up yet
        return server.ask("/predictions", {"input": {"x": 1}})["output"] == 2
    return False


def answer(server: Server) -> None:
    """Return when a prediction was answered."""
    while not up(server):
        time.sleep(0.001)


class Way:
    """A way to serve the model."""

    def __init__(self, arguments: argparse.Namespace, name: str, *flags: str) -> None:
        self.arguments, self.name, self.flags = arguments, name, flags
        self.forks = "setup" in name or name == "gunicorn"  # after the setup

    def serve(
        self, weights: str, workers: int, *more: str
    ) -> contextlib.AbstractContextManager[Server]:
        """Return the server, from when it listens; gunicorn from when it answers."""
        a = self.arguments
        how = {
            "env": {
                **os.environ,
                "IMPORT_SECONDS": str(a.imports),
                "SETUP_SECONDS": str(a.setup),
                "WEIGHTS_MIB": str(a.mib),
                "WEIGHTS": weights,
            },
            "stderr": subprocess.DEVNULL,
        }
        if self.name == "gunicorn":
            port = free_port()
            command = [
                a.python,
                "-m",
                "gunicorn",
                "--preload",
                "--workers",
                workers,
                "--bind",
                f"127.0.0.1:{port}",
            ]
            return serving(
                "gunicorn",
                [*command, "--chdir", BENCH / "peers/gunicorn", "service:app"],
                port,
                up,
                **how,
            )
        return pinion(
            *(
                "Pinion",
                BENCH / "models/ready",
                "--predictor",
                "run.py",
                "--python",
                a.python,
                "--queue",
                "64",
            ),
            *("--workers", workers, *self.flags, *more),
            binary=a.pinion,
            up=lambda server: server.ask("/health-check"),
            **how,
        )

    def workers(self, server: Server) -> list[int]:
        """Return the pids of the workers that there are now."""
        if self.name == "gunicorn":
            return processes.tree(server.process.pid)[1:]
        found = server.ask("/health-check")["workers"]
        return [w["pid"] for w in found if w.get("state") == "ready"]

    def away(self, server: Server) -> float:
        """Kill the only worker; return the seconds until the next answer."""
        (killed,) = self.workers(server)
        began = time.monotonic()
        os.kill(killed, signal.SIGKILL)
        answer(server)
        took = time.monotonic() - began
        while self.workers(server) in ([], [killed]):
            time.sleep(0.001)
        return took

    def started(self, weights: str) -> float:
        """Return the seconds that each worker after the first one takes to start."""
        with self.serve(weights, WORKERS) as server:
            first = 0.0
            while (ready := len(self.workers(server))) < WORKERS:
                first = first or (time.monotonic() if ready else 0.0)
                time.sleep(0.001)
            return (time.monotonic() - first) / (WORKERS - 1) if first else 0.0

    def idle(self, weights: str, rounds: int) -> float:
        """Return the seconds of the first answer of a model that its idleness has ended."""
        took = []
        with self.serve(weights, 1, "--idle-timeout", "300ms", "--load", "on-demand") as server:
            answer(server)
            for _ in range(rounds):
                while server.ask("/health-check")["status"] != "UNLOADED":
                    time.sleep(0.01)
                began = time.monotonic()
                answer(server)
                took.append(time.monotonic() - began)
        return statistics.median(took)

    def memory(self, weights: str, workers: int, predictions: int) -> Iterator[float]:
        """Yield the MiB of all processes: after the start, and after predictions."""
        with self.serve(weights, workers) as server:
            answer(server)
            while len(self.workers(server)) < workers:
                time.sleep(0.01)
            yield processes.memory(processes.tree(server.process.pid))
            for _ in range(predictions):
                up(server)
            yield processes.memory(processes.tree(server.process.pid))


def spread(times: list[float]) -> str:
    """Return the median of seconds, and the least and most."""
    return f"{statistics.median(times) * 1e3:.0f} ms ({min(times) * 1e3:.0f} to {max(times) * 1e3:.0f})"


def measure(a: argparse.Namespace, weights: str) -> None:
    """Print the tables of one kind of weights."""
    ways = [
        Way(a, "plain"),
        Way(a, "`--preload`", "--preload"),
        Way(a, "`--preload=setup`", "--preload=setup"),
    ]
    if weights != "torch":
        ways.append(Way(a, "gunicorn"))
    print(
        f"\nWeights: {a.mib} MiB ({weights or 'NumPy'}); imports {a.imports:g} s, setup {a.setup:g} s\n"
    )
    print(
        "| | start to the first answer | kill to the next answer | each further worker | idle to the first answer |"
    )
    print("|---|---|---|---|---|")
    for way in ways:
        began = time.monotonic()
        with way.serve(weights, 1) as server:
            answer(server)
            first = time.monotonic() - began
            away = [way.away(server) for _ in range(a.kills if way.forks else a.slow_kills)]
        further = f"{way.started(weights) * 1e3:.0f} ms" if "setup" in way.name else ""
        idle = f"{way.idle(weights, 5) * 1e3:.0f} ms" if "setup" in way.name else ""
        print(f"| {way.name} | {first:.2f} s | {spread(away)} | {further} | {idle} |", flush=True)
    print(
        f"\n| workers | PSS of all | of one without | after {a.predictions} predictions | of one without |\n|---|---|---|---|---|"
    )
    alone = next(ways[0].memory(weights, 1, 0))
    for way in (ways[0], *ways[2:]):
        before, after = way.memory(weights, 4, a.predictions)
        print(
            f"| 4, {way.name} | {before:.0f} MiB | {before / alone:.2f} × | {after:.0f} MiB | {after / alone:.2f} × |",
            flush=True,
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    add = parser.add_argument
    add("--pinion", default="bin/pinion")
    add("--python", required=True, type=Path, help="an interpreter with NumPy and gunicorn")
    add("--imports", type=float, default=0, help="seconds of the model's imports (default: 0)")
    add("--setup", type=float, default=5, help="seconds of its setup (default: 5)")
    add(
        "--weights",
        default=",small",
        help="kinds of weights: nothing, small, torch (default: the first two)",
    )
    add("--mib", type=int, default=1024, help="their size (default: 1024)")
    add("--kills", type=int, default=100, help="of a forked worker (default: 100)")
    add("--slow-kills", type=int, default=3, help="of one that runs its setup (default: 3)")
    add(
        "--predictions",
        type=int,
        default=10000,
        help="before the memory is read again (default: 10000)",
    )
    arguments = parser.parse_args()
    for weights in arguments.weights.split(","):
        measure(arguments, weights)


if __name__ == "__main__":
    main()
