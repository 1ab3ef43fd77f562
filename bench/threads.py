"""Measures threads: rate and memory beside workers, batches, async, FastAPI and LitServe."""

import argparse
import contextlib
import os
import statistics
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

from lib import processes, wrk
from lib.options import BENCH
from lib.serving import Server, free_port, pinion, serving

MODEL = BENCH / "models/threads"
NETWORK = BENCH / "models/ways"
BODY = '{"input":{"x":5}}'

Start = Callable[[], contextlib.AbstractContextManager[Server]]


class Bench:
    """The servers of a run."""

    def __init__(self, arguments: argparse.Namespace) -> None:
        self.arguments = arguments

    def environment(self, work: str, **more: str) -> dict[str, str]:
        # Each prediction computes on one core, in every server.
        return {
            **os.environ,
            "WORK": work,
            "OMP_NUM_THREADS": "1",
            "OPENBLAS_NUM_THREADS": "1",
            **more,
        }

    def pinion(self, work: str, *flags: str, python: str = "") -> Start:
        command = ("--python", python or self.arguments.python, "--queue", "200", *flags)
        return lambda: pinion(
            " ".join(("Pinion", work, *flags)),
            MODEL,
            *("--predictor", "run.py:Runner", *command),
            binary=self.arguments.pinion,
            env=self.environment(work),
            stderr=subprocess.DEVNULL,
        )

    def network(self, kind: str, *flags: str) -> Start:
        command = ("--python", self.arguments.python, "--queue", "200", *flags)
        return lambda: pinion(
            " ".join(("Pinion", kind, *flags)),
            NETWORK,
            *("--predictor", f"run.py:{kind}", *command),
            binary=self.arguments.pinion,
            env=self.environment(""),
            stderr=subprocess.DEVNULL,
        )

    def peer(
        self, name: str, work: str, workers: int, command: Callable[[int], list[object]]
    ) -> Start:
        port = free_port()
        return lambda: serving(
            f"{name} {work}",
            [self.arguments.python, *command(port)],
            port,
            up=lambda server: server.ask("/predictions", {"input": {"x": 5}}),
            env=self.environment(work, WORKERS=str(workers), PYTHONPATH=str(MODEL)),
            cwd=MODEL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )

    def fastapi(self, work: str) -> Start:
        def command(port: int) -> list[object]:
            return ["-m", "uvicorn", "on_fastapi:app", "--port", port, "--log-level", "error"]

        return self.peer("FastAPI", work, 1, command)

    def litserve(self, work: str, workers: int) -> Start:
        return self.peer("LitServe", work, workers, lambda port: ["on_litserve.py", port])


def rate(server: Server, connections: int, seconds: float, body: str) -> float:
    """Return the answers a second."""
    load = wrk.command(server.port, connections, seconds)
    environment = {"BODY": body, "REQUEST_PATH": "/predictions", "EXPECT": '"output":5'}
    values = wrk.faultless(server.name, wrk.figures(load, environment))
    return values["requests"] / values["us"] * 1e6


@contextlib.contextmanager
def body_file() -> Iterator[str]:
    """Write the request to a file."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "body.json"
        path.write_text(BODY)
        yield str(path)


def measure(
    rows: list[tuple[str, Start, int]], arguments: argparse.Namespace, body: str
) -> list[tuple[float, float]]:
    """Return the median rate and the memory in MiB of each row; the rows take turns."""
    rates: list[list[float]] = [[] for _ in rows]
    memories = [0.0] * len(rows)
    for _ in range(arguments.rounds):
        for i, (_, start, connections) in enumerate(rows):
            with start() as server:
                rate(server, connections, 1, body)
                rates[i].append(rate(server, connections, arguments.seconds, body))
                memories[i] = processes.memory(processes.tree(server.process.pid))
    return [(statistics.median(r), m) for r, m in zip(rates, memories)]


def table(
    title: str, rows: list[tuple[str, Start, int]], arguments: argparse.Namespace, body: str
) -> None:
    """Print a table; each rate is compared with the first row's."""
    print(f"\n{title}\n\n| | answers a second | of the first row | memory |\n|---|---|---|---|")
    figures = measure(rows, arguments, body)
    for (name, _, _), (per_second, memory) in zip(rows, figures):
        print(
            f"| {name} | {per_second:.0f} | {per_second / figures[0][0]:.2f} | {memory:.0f} MiB |",
            flush=True,
        )


def ways(bench: Bench) -> tuple[str, list[tuple[str, Start, int]]]:
    """Return the title and rows of one model that is served in each way."""
    two = ("--concurrency", "2")
    return (
        "A network of ONNX Runtime on one core a call, 8 connections",
        [
            ("one at a time", bench.network("Plain"), 8),
            ("2 threads", bench.network("Plain", *two), 8),
            ("2 workers", bench.network("Plain", "--workers", "2"), 8),
            ("batches of up to 8", bench.network("Batched"), 8),
            ("async, with threads of its own", bench.network("Async", *two), 8),
        ],
    )


def tables(bench: Bench, free_threaded: str) -> Iterator[tuple[str, list[tuple[str, Start, int]]]]:
    """Return titles and rows: a name, what starts the server, and its connections."""
    yield ways(bench)
    if bench.arguments.ways:
        return
    eight = ("--concurrency", "8")
    two = ("--concurrency", "2")
    yield (
        "Sleeps 20 ms, 8 connections (the first row: one)",
        [
            ("one thread", bench.pinion("sleep"), 1),
            ("8 threads", bench.pinion("sleep", *eight), 8),
            ("FastAPI, thread pool", bench.fastapi("sleep"), 8),
            ("LitServe, 8 workers", bench.litserve("sleep", 8), 8),
        ],
    )
    yield (
        "numpy, weights of 200 MB, 8 connections",
        [
            ("2 workers", bench.pinion("numpy", "--workers", "2"), 8),
            ("2 threads", bench.pinion("numpy", *two), 8),
            ("FastAPI, thread pool", bench.fastapi("numpy"), 8),
            ("LitServe, 2 workers", bench.litserve("numpy", 2), 8),
        ],
    )
    yield (
        "Echo, 64 connections",
        [
            ("one thread", bench.pinion("echo"), 64),
            ("8 threads", bench.pinion("echo", *eight), 64),
            ("FastAPI, thread pool", bench.fastapi("echo"), 64),
            ("LitServe, 2 workers", bench.litserve("echo", 2), 64),
        ],
    )
    if free_threaded:
        yield (
            "Computes in Python without a GIL, 8 connections",
            [
                ("one thread", bench.pinion("pure", python=free_threaded), 8),
                ("2 threads", bench.pinion("pure", *two, python=free_threaded), 8),
            ],
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pinion", default="bin/pinion")
    parser.add_argument("--python", required=True, help="with numpy, FastAPI and LitServe")
    parser.add_argument(
        "--free-threaded", default="", help="a python3.14t with numpy (default: without)"
    )
    parser.add_argument(
        "--ways", action="store_true", help="only the table of threads, workers, batches and async"
    )
    parser.add_argument("--rounds", type=int, default=3, help="of each row, in turn (default: 3)")
    parser.add_argument("--seconds", type=float, default=5, help="of each load (default: 5)")
    arguments = parser.parse_args()
    with body_file() as body:
        for title, rows in tables(Bench(arguments), arguments.free_threaded):
            table(title, rows, arguments, body)


if __name__ == "__main__":
    main()
