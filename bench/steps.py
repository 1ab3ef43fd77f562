"""Measures batched methods: tokens a second beside a bare loop over the same engine."""

import argparse
import os
import random
import statistics
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor

from lib.options import BENCH
from lib.serving import pinion

MODEL = BENCH / "models/steps"
sys.path.insert(0, str(MODEL))

from engine import Engine, bare_loop

ACTIVE = 32
ENGINES = {"10 ms": (10_000, 0), "5 ms + 0.1 ms for each sequence": (5000, 100), "0 ms": (0, 0)}


def served(
    kind: str, engine: tuple[int, int], lengths: list[int], options: argparse.Namespace
) -> tuple[float, int]:
    """Return the seconds for sequences of some lengths, and how many steps they took."""
    with pinion(
        f"Pinion {kind}",
        MODEL,
        *("--predictor", f"run.py:{kind}", "--python", options.python, "--queue", "200"),
        binary=options.pinion,
        env={**os.environ, "STEP_US": str(engine[0]), "ITEM_US": str(engine[1])},
        stderr=subprocess.DEVNULL,
    ) as server:

        def ask(tokens: int) -> int:
            return int(server.ask("/predictions", {"input": {"tokens": tokens}})["output"])

        before = ask(1)
        began = time.perf_counter()
        with ThreadPoolExecutor(ACTIVE) as clients:
            steps = max(clients.map(ask, lengths))
        return time.perf_counter() - began, steps - before


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--pinion", required=True)
    options.add_argument("--python", required=True)
    options.add_argument("--rounds", type=int, default=3)
    options.add_argument("--sequences", type=int, default=96)
    arguments = options.parse_args()
    chosen = random.Random(1)
    lengths = [chosen.randint(50, 200) for _ in range(arguments.sequences)]
    tokens = sum(lengths)
    print(
        "| engine | server | tokens a second | of the bare loop | sequences in a step | µs a step |"
    )
    print("|---|---|---|---|---|---|")
    for name, engine in ENGINES.items():
        runs: dict[str, list[tuple[float, int]]] = {"bare loop": [], "Async": [], "Threads": []}
        for _ in range(arguments.rounds):
            bare = Engine(*engine)
            seconds = bare_loop(bare, lengths, ACTIVE)
            runs["bare loop"].append((seconds, bare.steps))
            for kind in ("Async", "Threads"):
                runs[kind].append(served(kind, engine, lengths, arguments))
        first = statistics.median(s for s, _ in runs["bare loop"])
        for kind, values in runs.items():
            seconds, steps = statistics.median_low(values)
            row = f"{tokens / seconds:.0f} | {first / seconds:.2f} | {tokens / steps:.1f} | {seconds / steps * 1e6:.0f}"
            print(f"| {name} | {kind} | {row} |", flush=True)


main()
