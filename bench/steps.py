"""Measures batched methods: tokens a second beside a bare loop over the same engine, and beside other servers."""

import argparse
import contextlib
import json
import os
import random
import statistics
import subprocess
import sys
import threading
import time
import urllib.request
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

from lib import handover
from lib.options import BENCH, ROOT
from lib.serving import Server, free_port, pinion, serving

MODEL = BENCH / "models/steps"
VENVS = ROOT / ".cache/bench/venvs"
sys.path.insert(0, str(MODEL))

from engine import Engine, bare_loop

ACTIVE = 32
ENGINES = {"10 ms": (10_000, 0), "5 ms + 0.1 ms for each sequence": (5000, 100), "0 ms": (0, 0)}

Start = Callable[[dict[str, str]], contextlib.AbstractContextManager[Server]]
Ask = Callable[[Server, int], list[int]]


def ask(server: Server, tokens: int) -> list[int]:
    """Return the steps until the end of a sequence, and until its first token."""
    output: list[int] = server.ask("/predictions", {"input": {"tokens": tokens}})["output"]
    return output


def ask_stream(server: Server, tokens: int) -> list[int]:
    """Do the same for a stream, whose events or lines end with the number of steps; that of the first token is unknown."""
    request = urllib.request.Request(
        f"http://127.0.0.1:{server.port}/predictions",
        json.dumps({"input": {"tokens": tokens}}).encode(),
        {"Content-Type": "application/json", "Accept": "text/event-stream"},
    )
    steps = []
    with urllib.request.urlopen(request, timeout=600) as answer:
        for line in answer:
            text = line.decode().strip()
            if text.startswith('data: {"chunk"'):
                steps.append(json.loads(text[6:])["chunk"])
            elif text.isdigit():
                steps.append(int(text))
    if len(steps) != tokens:
        raise SystemExit(f"{server.name}: {len(steps)} tokens of a stream, want {tokens}")
    return [steps[-1], 0]


class Bench:
    """The servers, by name, with what asks them."""

    def __init__(self, arguments: argparse.Namespace) -> None:
        self.arguments = arguments
        self.servers: dict[str, tuple[Start, Ask]] = {
            "`await`": (self.pinion("Async"), ask),
            "`await`, streamed": (self.pinion("Stream"), ask_stream),
            "threads": (self.pinion("Threads"), ask),
        }
        for title, family, asks in (
            ("Ray Serve, `@serve.batch`", "ray", ask),
            ("LitServe, its loop, streamed", "litserve", ask_stream),
        ):
            if (VENVS / family / ".made-from").exists() and family in arguments.peers:
                self.servers[title] = (self.peer(family, asks), asks)

    def pinion(self, kind: str) -> Start:
        flags = ("--predictor", f"run.py:{kind}", "--python", self.arguments.python)
        return lambda settings: pinion(
            f"Pinion {kind}",
            MODEL,
            *(*flags, "--queue", "200"),
            binary=self.arguments.pinion,
            env={**os.environ, **settings},
            stderr=subprocess.DEVNULL,
        )

    def peer(self, family: str, asks: Ask) -> Start:
        python = VENVS / family / "bin/python"

        def start(settings: dict[str, str]) -> contextlib.AbstractContextManager[Server]:
            port = free_port()
            return serving(
                family,
                [python, f"on_{family}.py", port],
                port,
                up=lambda server: asks(server, 1),
                poll_budget=180,
                env={**os.environ, **settings, "RAY_USAGE_STATS_ENABLED": "0"},
                cwd=MODEL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
            )

        return start

    def served(self, name: str, engine: tuple[int, int], lengths: list[int]) -> tuple[float, int]:
        """Return the seconds for sequences of some lengths, and how many steps they took."""
        start, asks = self.servers[name]
        settings = {"STEP_US": str(engine[0]), "ITEM_US": str(engine[1])}
        with start(settings) as server, ThreadPoolExecutor(ACTIVE) as clients:
            before = asks(server, 1)[0]
            began = time.perf_counter()
            ends = list(clients.map(lambda tokens: asks(server, tokens), lengths))
            return time.perf_counter() - began, max(steps for steps, _ in ends) - before


def first_tokens(bench: Bench, name: str, rounds: int) -> list[int]:
    """Return the steps until the first token of sequences that came one by one while 31 others ran."""
    start, asks = bench.servers[name]
    with start({"STEP_US": "10000", "ITEM_US": "0"}) as server:
        others = [threading.Thread(target=asks, args=(server, 150)) for _ in range(ACTIVE - 1)]
        for other in others:
            other.start()
        time.sleep(0.3)  # 30 steps: all have joined
        found = sorted(asks(server, 1)[1] for _ in range(rounds))
        for other in others:
            other.join()
    return found


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--pinion", required=True)
    options.add_argument("--python", required=True)
    options.add_argument("--rounds", type=int, default=3)
    options.add_argument("--sequences", type=int, default=96)
    options.add_argument("--engines", type=int, default=len(ENGINES), help="only the first so many")
    options.add_argument("--peers", default="ray,litserve")
    arguments = options.parse_args()
    chosen = random.Random(1)
    lengths = [chosen.randint(50, 200) for _ in range(arguments.sequences)]
    tokens = sum(lengths)
    bench = Bench(arguments)
    print(
        "| engine | server | tokens a second | of the bare loop | sequences in a step | µs a step |"
    )
    print("|---|---|---|---|---|---|")
    for title, engine in list(ENGINES.items())[: arguments.engines]:
        runs: dict[str, list[tuple[float, int]]] = {"bare loop": []}
        runs |= {name: [] for name in bench.servers}
        for _ in range(arguments.rounds):
            bare = Engine(*engine)
            seconds = bare_loop(bare, lengths, ACTIVE)
            runs["bare loop"].append((seconds, bare.steps))
            for name in bench.servers:
                runs[name].append(bench.served(name, engine, lengths))
        first = statistics.median(s for s, _ in runs["bare loop"])
        for name, values in runs.items():
            seconds, steps = statistics.median_low(values)
            row = f"{tokens / seconds:.0f} | {first / seconds:.2f} | {tokens / steps:.1f} | {seconds / steps * 1e6:.0f}"
            print(f"| {title} | {name} | {row} |", flush=True)
    for name in ("`await`", "threads"):
        found = first_tokens(bench, name, 20)
        print(
            f"\n{name}: the first token of a sequence that comes while {ACTIVE - 1} run, in steps: "
            f"median {statistics.median(found):g}, most {found[-1]}"
        )
    handover.measure()


main()
