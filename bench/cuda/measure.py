"""Starts pinion with and without its CUDA start, in turn, and prints the times: bench/cuda.sh."""

from __future__ import annotations

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path.insert(1, str(Path(__file__).parents[1]))

from driver import CudaError, Driver
from lib.serving import pinion

START_TIMEOUT = 300.0  # seconds; importing torch from a cold network disk takes minutes


def main() -> int:
    """Measure and print; 0 also where there is no GPU."""
    args = parse()
    reason = why_no_gpu()
    if reason:
        print(f"no GPU here ({reason}): nothing was measured")
        return 0
    if not os.access(args.pinion, os.X_OK):
        print(f"there is no {args.pinion}: run ./build.sh first", file=sys.stderr)
        return 1
    proof = run(args, "on", {"BENCH_CUDA_WAIT": "60"})
    print_proof(proof)
    timed: dict[str, list[dict[str, Any]]] = {"on": [], "off": []}
    for mode in timed:
        run(args, mode)  # the first of each fills the page cache
    for i in range(args.runs):
        for mode in ("on", "off") if i % 2 == 0 else ("off", "on"):
            timed[mode].append(run(args, mode))
    print_table(timed)
    wrong = [r for results in timed.values() for r in results if not r["output"]["right"]]
    if (
        wrong
        or not proof["output"]["context_was_there"]
        or not proof["output"]["uses_primary_context"]
    ):
        print(
            "FAILED: a product was wrong, or the model did not use the context made for it",
            file=sys.stderr,
        )
        return 1
    return 0


def parse() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pinion", default="bin/pinion")
    parser.add_argument("--python", help="interpreter of the model")
    parser.add_argument("--runs", type=int, default=9, help="timed starts of each kind")
    parser.add_argument("--size", type=int, default=4096, help="rows of the matrices")
    return parser.parse_args()


def why_no_gpu() -> str:
    """Say why there is no GPU to measure with; empty where there is one."""
    try:
        driver = Driver()
        count = driver.devices()
    except (OSError, CudaError) as error:
        return str(error)
    if count == 0:
        return "the driver shows no device"
    print(f"device: {driver.name()}")
    return ""


def run(args: argparse.Namespace, mode: str, extra: dict[str, str] | None = None) -> dict[str, Any]:
    """Start a server, wait until it is ready, make one prediction, stop it."""
    python = ["--python", args.python] if args.python else []
    with tempfile.TemporaryFile() as log:
        start = time.perf_counter()
        try:
            with pinion(
                *("pinion", Path(__file__).parent, *python),
                binary=args.pinion,
                poll_budget=START_TIMEOUT,
                env={**os.environ, "PINION_CUDA": mode, **(extra or {})},
                stdout=log,
                stderr=subprocess.STDOUT,
            ) as server:
                ready = time.perf_counter() - start
                answer = server.ask("/predictions", {"input": {"size": args.size}})
                first = time.perf_counter() - start
                health = server.ask("/health-check")
            if answer.get("status") != "succeeded":
                raise RuntimeError(f"the prediction failed: {answer}")
        except BaseException:
            log.seek(0)
            shutil.copyfileobj(log, sys.stderr.buffer)
            raise
    reports = [worker.get("cuda") or {} for worker in health.get("workers") or []]
    return {
        "ready": ready,
        "answered": first,
        "output": answer["output"],
        "cuda": reports[0] if reports else {},
    }


def print_proof(result: dict[str, Any]) -> None:
    """Tell whether the model found and used the context, and what the worker's report says."""
    output = result["output"]
    found = "yes" if output["context_was_there"] else "NO"
    same = "yes" if output["uses_primary_context"] else "NO"
    print(f"model: {output['backend']}")
    print(f"context there before the model's first use: {found}")
    print(f"the model works in the primary context: {same}")
    print(f"report: {json.dumps(result['cuda'])}")


def print_table(timed: dict[str, list[dict[str, Any]]]) -> None:
    """Print medians and ranges in milliseconds, as a Markdown table."""

    def of_output(name: str) -> Callable[[dict[str, Any]], float]:
        return lambda result: result["output"][name]

    rows: dict[str, Callable[[dict[str, Any]], float]] = {
        "start to READY": lambda result: result["ready"],
        "start to the first answer": lambda result: result["answered"],
        "loading the package": of_output("load_seconds"),
        "the model's first use of the GPU": of_output("first_use_seconds"),
        "first product": of_output("first_product_seconds"),
        "product in a prediction": of_output("product_seconds"),
    }
    starts = len(timed["on"])
    print(f"\nmilliseconds, median (lowest to highest) of {starts} starts each, in turn\n")
    print("| | with | without (PINION_CUDA=off) |\n|---|---|---|")
    for title, value in rows.items():
        cells = []
        for mode in ("on", "off"):
            ms = sorted(1000 * value(r) for r in timed[mode])
            cells.append(f"{statistics.median(ms):.1f} ({ms[0]:.1f} to {ms[-1]:.1f})")
        print(f"| {title} | {cells[0]} | {cells[1]} |")


if __name__ == "__main__":
    sys.exit(main())
