"""Kills a model's worker again and again, and takes the time until the next one answers."""

import argparse
import json
import os
import signal
import statistics
import subprocess
import time
import urllib.error
import urllib.request

MODEL = os.path.join(os.path.dirname(os.path.abspath(__file__)), "models", "imports")


class Server:
    """A server of the model, until the with statement ends."""

    def __init__(self, arguments: argparse.Namespace, flags: list[str]) -> None:
        python = ["--python", arguments.python] if arguments.python else []
        command = [
            arguments.pinion,
            "serve",
            MODEL,
            "--predictor",
            "run.py",
            "--host",
            "127.0.0.1",
            "--port",
            "0",
        ]
        env = {**os.environ, "IMPORT_SECONDS": str(arguments.seconds)}
        self.began = time.monotonic()
        self.process = subprocess.Popen(
            [*command, "--log-format", "json", "--queue", "1", *python, *flags],
            env=env,
            stderr=subprocess.PIPE,
            text=True,
        )
        assert self.process.stderr is not None
        for line in self.process.stderr:
            event = json.loads(line)
            if event["msg"] == "listening":
                self.address = event["address"]
                return
        raise SystemExit("the server did not start")

    def __enter__(self):
        return self

    def __exit__(self, *_: object) -> None:
        self.process.send_signal(signal.SIGTERM)
        assert self.process.stderr is not None
        self.process.stderr.read()
        self.process.wait()

    def ask(self, path: str, body: object = None) -> dict:
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(
            self.address + path, data, {"Content-Type": "application/json"}
        )
        with urllib.request.urlopen(request) as answer:
            return json.load(answer)

    def wait(self) -> None:
        """Return when a prediction was answered."""
        while True:
            try:
                if self.ask("/predictions", {"input": {"x": 1}})["output"] == 2:
                    return
            except urllib.error.HTTPError:
                pass  # not set up yet
            time.sleep(0.002)

    def worker(self) -> int:
        return self.ask("/health-check")["workers"][0]["pid"]


def measure(arguments: argparse.Namespace, flags: list[str]) -> tuple[float, list[float]]:
    """Return the seconds from the start to the first answer, and those from each kill to the next."""
    with Server(arguments, flags) as server:
        server.wait()
        first = time.monotonic() - server.began
        away = []
        for _ in range(arguments.rounds):
            worker = server.worker()
            began = time.monotonic()
            os.kill(worker, signal.SIGKILL)
            while server.ask("/health-check")["workers"][0].get("pid") == worker:
                time.sleep(0.001)
            server.wait()
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
    print("| | start to the first answer | kill to the next answer: median (least to most) |")
    print("|---|---|---|")
    for name, flags in (("plain", []), ("`--preload`", ["--preload"])):
        first, away = measure(arguments, flags)
        shown = f"{statistics.median(away):.3f} s ({min(away):.3f} to {max(away):.3f})"
        print(f"| {name} | {first:.2f} s | {shown} |", flush=True)


if __name__ == "__main__":
    main()
