"""The benchmark's work as a ventu service, and the server in front of it: service.py PORT SERVER [ARGUMENT ...].

SERVER is the Go program of github.com/kemingy/batching, or `pinion batching`, which takes the same flags.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time

import ventu
from pydantic import BaseModel, StrictInt, StrictStr


class Text(BaseModel):
    text: StrictStr


class TextRequest(BaseModel):
    input: Text


class TextAnswer(BaseModel):
    output: str


class Number(BaseModel):
    x: StrictInt


class NumberRequest(BaseModel):
    input: Number


class NumberAnswer(BaseModel):
    output: int


class Echo(ventu.Ventu):
    def batch_inference(self, batch: list[TextRequest]) -> list[dict[str, str]]:
        return [{"output": item.input.text} for item in batch]


class Batch(ventu.Ventu):
    def batch_inference(self, batch: list[NumberRequest]) -> list[dict[str, int]]:
        time.sleep(0.005 + 0.0001 * len(batch))
        return [{"output": 2 * item.input.x} for item in batch]


def main() -> None:
    port, *server = sys.argv[1:]
    path = os.path.join(tempfile.mkdtemp(), "batching.socket")
    wait = ["-latency", os.environ["WAIT_MS"]] if os.environ.get("WAIT_MS") else []
    child = subprocess.Popen(
        [*server, "-address", path, "-batch", "32", "-host", "127.0.0.1", "-port", port, *wait]
    )
    while not os.path.exists(path):
        if child.poll() is not None:
            sys.exit(f"the server ended with {child.returncode}")
        time.sleep(0.01)
    if os.environ["WORK"] == "batch":
        service = Batch(NumberRequest, NumberAnswer, use_msgpack=False)
    else:
        service = Echo(TextRequest, TextAnswer, use_msgpack=False)
    service.run_unix(path)


if __name__ == "__main__":
    main()
