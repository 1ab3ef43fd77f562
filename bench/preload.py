"""Kills a model's worker again and again, and takes the time until the next one answers."""

import argparse
import contextlib
import os
import signal
import statistics
import subprocess
import time
import urllib.error

from lib.options import BENCH
from lib.serving import Server, pinion


def answer(server: Server) -> None:
    """Return when a prediction was answered."""
    while True:
        with contextlib.suppress(urllib.error.HTTPError):  # not set up yet
            if server.ask("/predictions", {"input": {"x": 1}})["output"] == 2:
                return
        time.sleep(0.002)


def worker(server: Server) -> int | None:
    """Return the worker's pid, if there is one now."""
    return server.ask("/health-check")["workers"][0].get("pid")


def measure(arguments: argparse.Namespace, *flags: str) -> tuple[float, list[float]]:
    """Return the seconds from the start to the first answer, and those from each kill to the next."""
    began = time.monotonic()
    with pinion(
        *("Pinion", BENCH / "models/imports", "--predictor", "run.py", "--queue", "1", *flags),
        binary=arguments.pinion,
        up=lambda server: server.ask("/health-check"),
        env={**os.environ, "IMPORT_SECONDS": str(arguments.seconds)},
        stderr=subprocess.DEVNULL,
    ) as server:
        answer(server)
        first = time.monotonic() - began
        away = []
        for _ in range(arguments.rounds):
            killed = worker(server)
            began = time.monotonic()
            os.kill(killed, signal.SIGKILL)
            while worker(server) == killed:
                time.sleep(0.001)
            answer(server)
            away.append(time.monotonic() - began)
        return first, away


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pinion", default="bin/pinion")
    parser.add_argument(
        "--python", help="the model's interpreter (default: that which pinion would take)"
    )
    parser.add_argument("--rounds", type=int, default=5, help="kills of each (default: 5)")
    parser.add_argument(
        "--seconds", type=float, default=3, help="of the model's imports (default: 3)"
    )
    arguments = parser.parse_args()
    python = ["--python", arguments.python] if arguments.python else []
    print("| | start to the first answer | kill to the next answer: median (least to most) |")
    print("|---|---|---|")
    for name, flags in (("plain", []), ("`--preload`", ["--preload"])):
        first, away = measure(arguments, *python, *flags)
        shown = f"{statistics.median(away):.3f} s ({min(away):.3f} to {max(away):.3f})"
        print(f"| {name} | {first:.2f} s | {shown} |", flush=True)


if __name__ == "__main__":
    main()
