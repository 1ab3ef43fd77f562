"""The options of the command line, and the paths."""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
BENCH = ROOT / "bench"
CACHE = ROOT / ".cache/bench"
RESULTS = ROOT / "docs/reference/benchmarks"
PAGE = ROOT / "docs/reference/benchmarks.md"


@dataclass
class Options:
    """One run."""

    rows: list[str]
    peers: list[str]  # empty: each row's own
    rounds: int
    seconds: int  # of each load
    server_cpus: str  # for taskset; empty: any
    client_cpus: str
    pinion: Path
    tools: Path  # the folder with bench-bare and bench-load
    results: Path
    page: Path


def read(rows: list[str], peers: list[str], arguments: list[str] | None = None) -> Options:
    """Read the command line; rows and peers are all known names."""
    parser = argparse.ArgumentParser(
        prog="bench/run.sh", description="Measure Pinion and its peers."
    )
    add = parser.add_argument
    add("--rows", default=",".join(rows), help="what to measure; default: all, " + ",".join(rows))
    add(
        "--peers",
        default="",
        help="the servers; default: all that can do a row, of " + ",".join(peers),
    )
    add("--rounds", type=int, default=3, help="how often each is measured, in turn; default 3")
    add("--seconds", type=int, default=2, help="how long each load lasts; default 2")
    add("--cpus", default="", help="the servers' CPUs as in taskset -c; 0/1: and the clients'")
    add("--pinion", type=Path, default=ROOT / "bin/pinion")
    add("--tools", type=Path, default=ROOT / "bin", help="the folder of bench-bare and bench-load")
    add("--results", type=Path, default=RESULTS, help="where measurements are kept, a file a row")
    add("--page", type=Path, default=PAGE, help="the page to write")
    add("--page-only", action="store_true", help="measure nothing, write the page anew")
    args = parser.parse_args(arguments)
    chosen = [] if args.page_only else split(args.rows, rows, parser)
    server_cpus, _, client_cpus = args.cpus.partition("/")
    return Options(
        chosen,
        split(args.peers, peers, parser),
        args.rounds,
        args.seconds,
        server_cpus,
        client_cpus,
        args.pinion.resolve(),
        args.tools.resolve(),
        args.results.resolve(),
        args.page.resolve(),
    )


def split(text: str, known: list[str], parser: argparse.ArgumentParser) -> list[str]:
    """Split a list of names."""
    names = [name for name in text.split(",") if name]
    for name in names:
        if name not in known:
            parser.error(f"there is no {name}; there are {', '.join(known)}")
    return names
