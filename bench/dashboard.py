"""Measures what the live view costs: bench/dashboard.sh [--rounds N] [--seconds S] [--rate N].

Three servers of the echo model take turns: without the view, with it, and with a client that follows its events. For each it
prints the CPU time of the front for a prediction, and the rate of one without a limit, beside those without the view.
"""

import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import threading
import urllib.request

ROOT = pathlib.Path(__file__).resolve().parent.parent
TICK = os.sysconf("SC_CLK_TCK")
BODY = '{"input": {"text": "hello"}}'
MODEL = "def run(text: str) -> str:\n    return text\n"


class Server:
    """A running server."""

    def __init__(self, folder: str, *flags: str):
        command = [ROOT / "bin/pinion", "serve", folder, "--predictor", "echo.py:run", "--python"]
        command += [sys.executable, "--port", "0", "--host", "127.0.0.1", "--log-format", "json"]
        self.process = subprocess.Popen(
            [*command, "--queue", "256", *flags], stderr=subprocess.PIPE, text=True
        )
        self.address = ""
        for line in self.process.stderr:
            record = json.loads(line)
            self.address = record.get("address", self.address)
            if record["msg"] == "worker ready":
                break
        threading.Thread(target=self.process.stderr.read, daemon=True).start()

    def cpu(self) -> float:
        """Return the seconds of CPU time that the front has taken."""
        fields = pathlib.Path(f"/proc/{self.process.pid}/stat").read_text().rsplit(")", 1)[1]
        return sum(int(n) for n in fields.split()[11:13]) / TICK

    def stop(self) -> None:
        self.process.terminate()
        self.process.wait()


def load(server: Server, body: str, seconds: float, rate: float) -> dict:
    """Send predictions, as bench/load does."""
    address = server.address.removeprefix("http://")
    command = [ROOT / "bin/bench-load", "-address", address, "-body", body, "-expect", "hello"]
    command += ["-seconds", str(seconds), "-rate", str(rate), "-connections", "64"]
    return json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def follow(server: Server) -> None:
    """Read the view's events until the server ends them."""
    try:
        with urllib.request.urlopen(server.address + "/dashboard/events") as events:
            while events.read1(1 << 16):
                pass
    except OSError:
        pass


def measure(servers: dict[str, Server], body: str, o: argparse.Namespace) -> tuple[dict, dict]:
    """Return the CPU time of a prediction in microseconds, and the rate without a limit, of each round."""
    paced: dict[str, list[float]] = {name: [] for name in servers}
    full: dict[str, list[float]] = {name: [] for name in servers}
    for _ in range(o.rounds):
        for name, server in servers.items():
            before = server.cpu()
            result = load(server, body, o.seconds, o.rate)
            paced[name].append((server.cpu() - before) / result["ok"] * 1e6)
        for name, server in servers.items():
            full[name].append(load(server, body, o.seconds, 0)["rate"])
    return paced, full


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--rounds", type=int, default=4)
    options.add_argument("--seconds", type=float, default=5)
    options.add_argument("--rate", type=float, default=1000)
    o = options.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        pathlib.Path(folder, "echo.py").write_text(MODEL)
        body = str(pathlib.Path(folder, "body.json"))
        pathlib.Path(body).write_text(BODY)
        servers = {
            "off": Server(folder, "--no-dashboard"),
            "on": Server(folder),
            "followed": Server(folder),
        }
        threading.Thread(target=follow, args=(servers["followed"],), daemon=True).start()
        try:
            paced, full = measure(servers, body, o)
        finally:
            for server in servers.values():
                server.stop()
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
