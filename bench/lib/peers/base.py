"""The base of all servers."""

from __future__ import annotations

import json
import os
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lib.options import BENCH, CACHE, Options

ECHO = "x" * 16


@dataclass
class Setting:
    """The settings of a server."""

    options: Options
    work: str
    port: int
    workers: int = 1
    wait_ms: str = ""  # how long a batch may wait; empty: the server's default
    folder: Path = Path()  # an empty folder for the server


class Peer:
    """One server. Those that need a service have it in bench/peers/NAME/service.py."""

    name = ""
    title = ""
    family = ""  # the folder of its service, and of its environment
    package = ""  # whose version is reported; empty: the family's name
    alone = False  # it works while it idles, and must not run beside others
    start_seconds = 60
    largest_body = 1 << 40
    accepts = "text/event-stream"

    @property
    def venv(self) -> Path:
        """Its environment."""
        return CACHE / "venvs" / self.family

    @property
    def python(self) -> str:
        """Its interpreter."""
        return str(self.venv / "bin/python")

    @property
    def home(self) -> Path:
        """The folder of its service."""
        return BENCH / "peers" / self.family

    def missing(self, options: Options) -> str:
        """Say why it cannot run here; empty where it can."""
        return "" if Path(self.python).exists() else f"{self.venv} was not installed"

    def command(self, s: Setting) -> list[str]:
        """Return the command that serves."""
        return [self.python, "service.py", str(s.port)]

    def folder(self, s: Setting) -> Path:
        """Return the folder to start it in."""
        return self.home if self.home.exists() else BENCH

    def environment(self, s: Setting) -> dict[str, str]:
        """Return what is added to the environment."""
        return {
            "WORK": s.work,
            "WORKERS": str(s.workers),
            "WAIT_MS": s.wait_ms,
            "PYTHONPATH": f"{BENCH}/models/onnx:{BENCH}/models/onnx-batch",
            "NETWORK": str(CACHE / "mlp.onnx"),  # network.py wrote it
            "PATH": f"{self.venv}/bin:{os.environ['PATH']}",
            "OMP_NUM_THREADS": "1",
        }

    def route(self, work: str) -> str:
        """Return the path of its predictions."""
        return "/predictions"

    def request(self, value: dict[str, Any], work: str) -> bytes:
        """Return a request's body."""
        return json.dumps({"input": value}, separators=(",", ":")).encode()

    def output(self, body: bytes) -> Any:
        """Return the output that an answer has."""
        return json.loads(body)["output"]

    def marked(self, text: str) -> list[str]:
        """Return how the JSON of an output may stand in an answer."""
        return [f'"output":{text}', f'"output": {text}']

    def version(self, options: Options) -> str:
        """Return the version that is installed."""
        code = f"import importlib.metadata as m; print(m.version({self.package or self.family!r}))"
        return subprocess.run(
            [self.python, "-c", code], capture_output=True, text=True, check=False
        ).stdout.strip()
