"""Measures what the live view costs: bench/dashboard.sh [--rounds N] [--seconds S] [--rate N].

Three servers of the echo model take turns: without the view, with it, and with a client that follows its events. For each it
prints the CPU time of the front for a prediction, and the rate of one without a limit, beside those without the view.
"""

import argparse
import contextlib
import json
import pathlib
import statistics
import subprocess
import sys
import tempfile
import threading
import urllib.request

from lib import processes
from lib.options import ROOT
from lib.serving import Server, pinion

BODY = '{"input": {"text": "hello"}}'
MODEL = "def run(text: str) -> str:\n    return text\n"


def front(server: Server) -> float:
    """Return the seconds of CPU time that the front has taken."""
    return processes.cpu([server.process.pid])


def load(server: Server, body: str, seconds: float, rate: float) -> dict:
    """Send predictions, as bench/load does."""
    command = [ROOT / "bin/bench-load", "-address", f"127.0.0.1:{server.port}"]
    command += ["-body", body, "-expect", "hello"]
    command += ["-seconds", str(seconds), "-rate", str(rate), "-connections", "64"]
    return json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def follow(server: Server) -> None:
    """Read the view's events until the server ends them."""
    url = f"http://127.0.0.1:{server.port}/dashboard/events"
    with contextlib.suppress(OSError), urllib.request.urlopen(url) as events:
        while events.read1(1 << 16):
            pass


def measure(servers: dict[str, Server], body: str, o: argparse.Namespace) -> tuple[dict, dict]:
    """Return the CPU time of a prediction in microseconds, and the rate without a limit, of each round."""
    paced: dict[str, list[float]] = {name: [] for name in servers}
    full: dict[str, list[float]] = {name: [] for name in servers}
    for _ in range(o.rounds):
        for name, server in servers.items():
            before = front(server)
            result = load(server, body, o.seconds, o.rate)
            paced[name].append((front(server) - before) / result["ok"] * 1e6)
        for name, server in servers.items():
            full[name].append(load(server, body, o.seconds, 0)["rate"])
    return paced, full


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--rounds", type=int, default=4)
    options.add_argument("--seconds", type=float, default=5)
    options.add_argument("--rate", type=float, default=1000)
    o = options.parse_args()
    with tempfile.TemporaryDirectory() as folder, contextlib.ExitStack() as stack:
        model = pathlib.Path(folder)
        (model / "echo.py").write_text(MODEL)
        body = model / "body.json"
        body.write_text(BODY)
        flags = ["--predictor", "echo.py:run", "--python", sys.executable]
        flags += ["--log-format", "json", "--queue", "256"]
        servers = {
            name: stack.enter_context(pinion(name, model, *flags, *more, stderr=subprocess.DEVNULL))
            for name, more in {"off": ["--no-dashboard"], "on": [], "followed": []}.items()
        }
        threading.Thread(target=follow, args=(servers["followed"],), daemon=True).start()
        paced, full = measure(servers, str(body), o)
    for name in servers:
        cost, rate = statistics.median(paced[name]), statistics.median(full[name])
        ratio = statistics.median(a / b for a, b in zip(full[name], full["off"]))
        more = cost - statistics.median(paced["off"])
        print(
            f"{name:9} {cost:6.1f} µs of CPU a prediction at {o.rate:.0f} a second ({more:+.1f}),",
            end=" ",
        )
        print(f"{rate:7.0f} a second at most, ratio {ratio:.3f}")


if __name__ == "__main__":
    main()
