"""Serves a transformer on a GPU in several ways, and prints their rates and memory: bench/gpu.sh."""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import time

from lib import processes
from lib.options import BENCH, ROOT
from lib.serving import BenchError, Server, pinion

MODEL = BENCH / "models/gpu"
CONNECTIONS = 32

WAYS: dict[str, tuple[str, ...]] = {
    "1 slot": (),
    "4 workers": ("--workers", "4"),
    "4 threads": ("--concurrency", "4"),
    "batches of up to 16": ("--predictor", "run.py:Batched"),
}

# The same work without a server: the median time of one call. A server's process sleeps between two calls, so this does.
ALONE = """
import statistics, sys, time
sys.path.insert(0, sys.argv[1])
from encoder import Encoder, sequence
encoder, times = Encoder(), []
for _ in range(300):
    time.sleep(0.0002)
    begin = time.perf_counter()
    answer = encoder.on_stream(sequence(5).unsqueeze(0))[0]
    times.append(time.perf_counter() - begin)
print(answer, statistics.median(times))
"""


def parse() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pinion", default="bin/pinion")
    parser.add_argument("--python", default=sys.executable, help="with torch and pinion's needs")
    parser.add_argument("--load", help="bench/load, built (default: built here)")
    parser.add_argument("--seconds", type=float, default=5, help="of each load (default: 5)")
    parser.add_argument("--rounds", type=int, default=2, help="of each way, in turn (default: 2)")
    return parser.parse_args()


def gpu_memory() -> int:
    """MiB of the first GPU that are in use."""
    command = ["nvidia-smi", "--query-gpu=memory.used", "--format=csv,noheader,nounits", "-i", "0"]
    try:
        return int(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
    except OSError:
        return 0


def load(
    args: argparse.Namespace, server: Server, connections: int, expect: str
) -> dict[str, float]:
    """Ask in a closed loop; each answer is compared."""
    with tempfile.NamedTemporaryFile("w") as body:
        body.write('{"input":{"x":5}}')
        body.flush()
        command = [
            *(args.load, "-address", f"127.0.0.1:{server.port}", "-body", body.name),
            *("-expect", expect, "-connections", connections, "-seconds", args.seconds),
        ]
        run = subprocess.run([str(w) for w in command], capture_output=True, text=True, check=False)
    try:
        values: dict[str, float] = json.loads(run.stdout)
    except ValueError:
        raise BenchError(f"{server.name}: {run.stderr}") from None
    if not values["ok"] or any(values.get(key) for key in ("wrong", "failed", "refused")):
        raise BenchError(f"{server.name}: wrong answers: {values}")
    return values


def main() -> None:
    """Measure each way in turn, and print a table."""
    args = parse()
    if not args.load:
        args.load = str(ROOT / ".cache/bench/load")
        subprocess.run(["go", "build", "-o", args.load, "./bench/load"], cwd=ROOT, check=True)
    plain: list[float] = []
    results: dict[str, list[tuple[float, float, float, float]]] = {way: [] for way in WAYS}
    for _ in range(args.rounds):
        answer, seconds = alone(args.python)
        plain.append(seconds)
        expect = f'"output":{answer}'
        for way, flags in WAYS.items():
            before = gpu_memory()
            predictor = () if "--predictor" in flags else ("--predictor", "run.py:Single")
            with pinion(
                *(way, MODEL, "--python", args.python, "--queue", "200", *predictor, *flags),
                binary=args.pinion,
                poll_budget=300,
                stderr=subprocess.DEVNULL,
            ) as server:
                load(args, server, CONNECTIONS, expect)
                one = load(args, server, 1, expect)
                many = load(args, server, CONNECTIONS, expect)
                pids = processes.tree(server.process.pid)
                results[way].append(
                    (many["rate"], one["p50"], gpu_memory() - before, processes.memory(pids))
                )
            time.sleep(1)  # until the driver has taken the memory back
    print(f"one call in plain Python: {1000 * statistics.median(plain):.2f} ms\n")
    print_table(results)


def alone(python: str) -> tuple[str, float]:
    """Return the output of one call in plain Python, and its median time in seconds."""
    command = [python, "-c", ALONE, str(MODEL)]
    run = subprocess.run(command, capture_output=True, text=True, check=True)
    answer, seconds = run.stdout.split()
    return answer, float(seconds)


def print_table(results: dict[str, list[tuple[float, float, float, float]]]) -> None:
    """Print medians."""
    print(f"| | answers a second at {CONNECTIONS} | p50 of one alone | GPU memory | memory |")
    print("|---|---|---|---|---|")
    for way, rows in results.items():
        rate, one, gpu, memory = (statistics.median(column) for column in zip(*rows))
        print(f"| {way} | {rate:.0f} | {one / 1000:.2f} ms | {gpu:.0f} MiB | {memory:.0f} MiB |")


if __name__ == "__main__":
    main()
