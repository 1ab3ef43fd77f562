"""Measures what ranks cost: bench/ranks.sh."""

from __future__ import annotations

import argparse
import contextlib
import datetime
import http.client
import json
import os
import re
import signal
import statistics
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

from lib.options import BENCH, ROOT
from lib.serving import BenchError, Server, free_port, pinion

MODEL = BENCH / "models/ranks"
FRAME = "x" * (1920 * 1080 * 3)  # as large as a frame of 1080p
TORCH = ROOT / ".cache/torch"  # Debian's, unpacked


def parse() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    add = parser.add_argument
    add("--pinion", default="bin/pinion")
    add("--python", default="/usr/bin/python3", help="the model's, with torch")
    add("--ranks", type=int, default=4, help="of a group (default: 4)")
    add("--rounds", type=int, default=5, help="of each, in turn (default: 5)")
    add("--requests", type=int, default=2000, help="of an echo, each round (default: 2000)")
    add("--sums", type=int, default=200, help="all-reduces, each round (default: 200)")
    return parser.parse_args()


def environment() -> dict[str, str]:
    """Return the environment of the model, with Debian's torch if it was unpacked."""
    env = {**os.environ, "GLOO_SOCKET_IFNAME": "lo", "OMP_NUM_THREADS": "1"}
    if TORCH.exists():
        libraries = next(TORCH.glob("usr/lib/*-linux-gnu"))
        env["PYTHONPATH"] = str(TORCH / "usr/lib/python3/dist-packages")
        env["LD_LIBRARY_PATH"] = ":".join(
            str(path)
            for path in (
                *(libraries, libraries / "blas", libraries / "lapack", TORCH / "usr/lib"),
                TORCH / "lib" / libraries.name,
            )
        )
    return env


def group(
    o: argparse.Namespace, file: str, ranks: int
) -> contextlib.AbstractContextManager[Server]:
    """Serve a model by so many ranks."""
    return pinion(
        f"Pinion, {ranks} ranks",
        MODEL,
        *("--predictor", f"{file}:Runner", "--ranks", ranks, "--python", o.python, "--queue", 4),
        binary=o.pinion,
        env=environment(),
        stderr=subprocess.DEVNULL,
    )


def predict(server: Server, died: str = "", **given: object) -> object:
    """Return the output of a prediction that must succeed, or None if it failed with died in its error."""
    said = server.ask("/predictions", {"input": given})
    if said["status"] == "succeeded":
        return said["output"]
    if died and died in said["error"]:
        return None
    raise BenchError(f"{server.name}: {said}")


def ranks_of(server: Server) -> list[int]:
    """Return the processes of the one worker, by rank."""
    worker = server.ask("/health-check")["workers"][0]
    return [rank["pid"] for rank in worker.get("ranks", [{"pid": worker["pid"]}])]


def echo_times(server: Server, count: int) -> Iterator[float]:
    """Ask in a closed loop, and yield the seconds of each answer."""
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=60)
    body = json.dumps({"input": {"text": "12345"}})
    for _ in range(count):
        began = time.perf_counter()
        connection.request("POST", "/predictions", body, {"Content-Type": "application/json"})
        answer = connection.getresponse().read()
        yield time.perf_counter() - began
        if b'"output":5' not in answer:
            raise BenchError(f"{server.name}: {answer!r}")


def echo(o: argparse.Namespace) -> None:
    """Print what ranks add to the median of an echo."""
    with group(o, "run.py", 1) as one, group(o, "run.py", o.ranks) as several:
        medians: dict[str, list[float]] = {one.name: [], several.name: []}
        for server in (one, several):
            list(echo_times(server, o.requests))
        for _ in range(o.rounds):
            for server in (one, several):
                medians[server.name].append(statistics.median(echo_times(server, o.requests)))
    alone, together = (statistics.median(m) * 1e6 for m in medians.values())
    added = [(b - a) * 1e6 for a, b in zip(*medians.values())]
    print(
        f"median of an echo: 1 rank {alone:.0f} µs, {o.ranks} ranks {together:.0f} µs: "
        f"added {statistics.median(added):.0f} µs ({min(added):.0f} to {max(added):.0f})",
        flush=True,
    )


def torchrun(o: argparse.Namespace) -> float:
    """Return the seconds of the sums in rank 0 of a script of torchrun."""
    run = subprocess.run(
        [
            *(o.python, "-m", "torch.distributed.run", "--nproc_per_node", str(o.ranks)),
            *("--redirects", "1", "--tee", "1"),  # the defaults of Debian's fail on Python 3.11
            *("--master_addr", "127.0.0.1", "--master_port", str(free_port())),
            *(str(MODEL / "reduce.py"), str(o.sums)),
        ],
        env=sdk(environment()),
        capture_output=True,
        text=True,
        check=False,
    )
    found = re.search(r"rank 0: (\S+)", run.stdout)
    if run.returncode or not found:
        raise BenchError(f"torchrun: {run.stdout}{run.stderr}")
    return float(found[1])


def sdk(env: dict[str, str]) -> dict[str, str]:
    """Add the cog package, for a script that imports it without a server."""
    own = ROOT / "pyembed/sdk"
    return {**env, "PYTHONPATH": f"{own}:{env.get('PYTHONPATH', '')}"}


def reduce(o: argparse.Namespace) -> None:
    """Print the rate of all-reduces beside that under torchrun."""
    ratios, rates = [], []
    with group(o, "reduce.py", o.ranks) as server:
        predict(server, count=o.sums)
        for _ in range(o.rounds):
            theirs, mine = torchrun(o), predict(server, count=o.sums)
            ratios.append(theirs / mine)
            rates.append(o.sums / mine)
    print(
        f"all-reduces of 4 MB by {o.ranks} ranks: {statistics.median(rates):.0f} a second, "
        f"{statistics.median(ratios):.3f} of torchrun's rate ({min(ratios):.3f} to {max(ratios):.3f})",
        flush=True,
    )


def moment(text: str) -> float:
    """Return a time of the health document as seconds."""
    return datetime.datetime.fromisoformat(text.replace("Z", "+00:00")).timestamp()


def deaths(o: argparse.Namespace) -> None:
    """Print how much later than the start of a group the next answer comes after a rank was killed."""
    added, starts = [], []
    with group(o, "reduce.py", o.ranks) as server:
        for n in range(o.rounds * o.ranks):
            predict(server, count=1)
            if n % 2:  # half of them in a collective
                busy = http.client.HTTPConnection("127.0.0.1", server.port)
                body = json.dumps({"input": {"count": 10**9}})
                busy.request("POST", "/predictions", body, {"Content-Type": "application/json"})
                while not server.ask("/health-check")["workers"][0].get("busy"):
                    pass
            killed = ranks_of(server)[n % o.ranks]
            began = time.time()
            os.kill(killed, signal.SIGKILL)
            if n % 2:
                busy.getresponse()
            while predict(server, "died", count=1) is None:  # it came before the server knew
                pass
            took = time.time() - began
            setup = server.ask("/health-check")["setup"]
            starts.append(moment(setup["completed_at"]) - moment(setup["started_at"]))
            added.append(took - starts[-1])
    print(
        f"rank killed to the next answer: {statistics.median(added) * 1e3:.0f} ms more than the group's start "
        f"({min(added) * 1e3:.0f} to {max(added) * 1e3:.0f}), which took {statistics.median(starts):.2f} s",
        flush=True,
    )


def moved(pid: int, what: str) -> int:
    """Return the bytes that a process has read (rchar) or written (wchar)."""
    return int(re.search(rf"{what}: (\d+)", Path(f"/proc/{pid}/io").read_text())[1])


def copies(o: argparse.Namespace) -> None:
    """Print how much the server writes and the ranks read of a large input."""
    for ranks in (1, 8):
        with group(o, "run.py", ranks) as server:
            pids = [server.process.pid, *ranks_of(server)]
            predict(server, text=FRAME)
            before = [moved(pids[0], "wchar"), *(moved(pid, "rchar") for pid in pids[1:])]
            predict(server, text=FRAME)
            after = [moved(pids[0], "wchar"), *(moved(pid, "rchar") for pid in pids[1:])]
            front, *read = ((b - a) / len(FRAME) for a, b in zip(before, after))
        print(
            f"input of 6 MB, {ranks} rank{'s' * (ranks > 1)}: the server writes {front:.2f} times as much, "
            f"a rank reads {max(read):.2f} times as much",
            flush=True,
        )


def main() -> None:
    o = parse()
    echo(o)
    copies(o)
    reduce(o)
    deaths(o)


if __name__ == "__main__":
    main()
