"""How long predictions fail after a worker is killed.

Sixteen clients ask a small model all the time, each as soon as it was answered. The worker is
killed with SIGKILL, again and again. For each kill the output says how many predictions failed,
how soon, and when the first answer of the next worker came. `bench/recover.sh` builds what
this needs and calls it.
"""

from __future__ import annotations

import argparse
import http.client
import json
import os
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from dataclasses import dataclass
from pathlib import Path

from lib.serving import PINION, Server, pinion

MODEL = """
import os, time

def run(text: str, busy: float) -> str:
    time.sleep(busy)
    return f"{os.getpid()} {text}"
"""


@dataclass
class Answer:
    """An answer to a client, and its time."""

    at: float
    status: int
    error: str
    pid: int


class Clients:
    """Closed-loop clients of one server."""

    def __init__(self, port: int, n: int, busy: float) -> None:
        self.port, self.busy = port, busy
        self.answers: list[Answer] = []
        self.lock = threading.Lock()
        self.stop = threading.Event()
        self.threads = [threading.Thread(target=self.ask, args=(i,)) for i in range(n)]
        for thread in self.threads:
            thread.start()

    def ask(self, client: int) -> None:
        """Ask until stop is set; a wrong answer ends the run."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        n = 0
        while not self.stop.is_set():
            text = f"{client}-{n}"
            n += 1
            body = json.dumps({"input": {"text": text, "busy": self.busy}})
            connection.request("POST", "/predictions", body, {"Content-Type": "application/json"})
            response = connection.getresponse()
            said = json.load(response)
            pid, _, echo = (said.get("output") or "0 ").partition(" ")
            if said.get("status") == "succeeded" and echo != text:
                print(f"{text} was answered with {said}", file=sys.stderr)
                os._exit(1)
            answer = Answer(
                time.perf_counter(),
                response.status,
                said.get("error", ""),
                int(pid),
            )
            with self.lock:
                self.answers.append(answer)

    def since(self, moment: float) -> list[Answer]:
        """Return the answers that came after a time."""
        with self.lock:
            return [a for a in self.answers if a.at > moment]

    def more(self, n: int) -> None:
        """Wait until so many more were answered."""
        begun = time.perf_counter()
        until("clients are answered", lambda: len(self.since(begun)) > n)

    def leave(self) -> None:
        """End all clients."""
        self.stop.set()
        for thread in self.threads:
            thread.join()


def until(what: str, reached) -> None:
    """Wait for a state, a minute at most."""
    deadline = time.monotonic() + 60
    while not reached():
        if time.monotonic() > deadline:
            sys.exit(f"not within a minute: {what}")
        time.sleep(0.001)


def kill(server: Server, clients: Clients) -> tuple[list[float], float, list[Answer]]:
    """Kill the worker once; return when predictions failed, when it was back, and the errors."""
    worker = server.ask("/health-check")["workers"][0]["pid"]
    moment = time.perf_counter()
    os.kill(worker, signal.SIGKILL)
    until(
        "another worker answers",
        lambda: any(a.pid not in (0, worker) for a in clients.since(moment)),
    )
    answers = clients.since(moment)
    back = next(a.at for a in answers if a.pid not in (0, worker)) - moment
    failed = [a for a in answers if a.status == 200 and a.pid == 0]
    odd = [a for a in answers if a.status != 200]
    odd += [a for a in failed if "worker killed (SIGKILL)" not in a.error]
    return [a.at - moment for a in failed], back, odd


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--kills", type=int, default=30, help="how often (default 30)")
    parser.add_argument("--clients", type=int, default=16, help="how many ask (default 16)")
    parser.add_argument(
        "--busy",
        type=float,
        default=0.002,
        help="seconds that the model takes (default 0.002: there is always one to be hit)",
    )
    parser.add_argument(
        "--python", default=sys.executable, help="the model's Python (default: this)"
    )
    parser.add_argument("--pinion", default=PINION, help="the binary (default: bin/pinion)")
    o = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "run.py").write_text(MODEL)
        flags = ["--predictor", "run.py:run", "--python", o.python]
        flags += ["--queue", 2 * o.clients, "--log-format", "json"]
        with pinion(
            "Pinion", Path(folder), *flags, binary=o.pinion, stderr=subprocess.DEVNULL
        ) as server:
            measure(o, server)


def measure(o: argparse.Namespace, server: Server) -> None:
    """Kill the worker again and again, and print what that cost."""
    clients = Clients(server.port, o.clients, o.busy)
    failures: list[float] = []
    backs: list[float] = []
    counts: list[int] = []
    for _ in range(o.kills):
        clients.more(100)
        failed, back, odd = kill(server, clients)
        if odd:
            print(f"wrong answers: {odd}", file=sys.stderr)
            os._exit(1)
        failures += failed
        backs.append(back)
        counts.append(len(failed))
    clients.leave()
    print(f"{o.kills} kills under {o.clients} clients, the model takes {o.busy * 1e3:g} ms")
    print(
        f"predictions that failed, each kill:     {min(counts)} to {max(counts)}, {sum(counts)} in all"
    )
    for what, times in (
        ("kill to the failed answer", failures),
        ("kill to the next worker's first answer", backs),
    ):
        if times:
            print(
                f"{what + ':':<40}median {statistics.median(times) * 1e3:.1f} ms, "
                f"most {max(times) * 1e3:.1f} ms"
            )


if __name__ == "__main__":
    main()
