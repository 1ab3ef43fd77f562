"""Loads: wrk's closed loop, and bench/load's open one. Both check every answer."""

from __future__ import annotations

import json
import subprocess
import tempfile
from typing import Any

from lib import processes, wrk
from lib.server import Server, dumps
from lib.serving import BenchError


class Load:
    """The request that one server gets again and again."""

    def __init__(self, server: Server, value: dict[str, Any], output: Any) -> None:
        self.server, self.options = server, server.options
        text = dumps(output)
        if len(text) > 1 << 16:  # the environment of a process cannot hold more than 128 kB
            text = text[: 1 << 10]
        self.expect = server.marked(value, text) if output is not None else '"output"'
        self.body = tempfile.NamedTemporaryFile()  # noqa: SIM115 (it lives as long as this)
        self.body.write(server.request(value))
        self.body.flush()
        self.path = server.peer.route(server.work)

    def command(self, *command: str) -> list[str]:
        """Pin a client's command."""
        pin = ["taskset", "-c", self.options.client_cpus] if self.options.client_cpus else []
        return [*pin, *command]

    def closed(self, connections: int, seconds: int) -> dict[str, float]:
        """Run wrk: each connection sends its next request after an answer."""
        pids = self.server.pids()
        before = processes.cpu(pids)
        environment = {"BODY": self.body.name, "EXPECT": self.expect, "REQUEST_PATH": self.path}
        load = self.command(*wrk.command(self.server.port, connections, seconds))
        values = wrk.figures(load, environment)
        right = values["requests"] - values["refused"]
        spent = processes.cpu(pids) - before
        self.classify(values, right)
        return {
            "rate": right / values["us"] * 1e6,
            "refused": values["refused"] / max(1, values["requests"]),
            "cpu": spent / right * 1e6 if right else 0,  # µs a request
            **{k: values[k] for k in ("p50", "p90", "p99")},
        }

    def open(self, rate: float, connections: int, seconds: float) -> dict[str, float]:
        """Send at a fixed rate; rate 0 is a closed loop."""
        with self.start(rate, connections, seconds) as run:
            text = run.communicate()[0]
        values: dict[str, float] = json.loads(text)
        self.classify(values, values["ok"])
        total = values["ok"] + values["refused"]
        return {
            **{k: values[k] for k in ("rate", "p50", "p90", "p99", "max")},
            "refused": values["refused"] / max(1, total),
        }

    def start(self, rate: float, connections: int, seconds: float) -> subprocess.Popen[str]:
        """Start bench/load."""
        command = self.command(
            *(str(self.options.tools / "bench-load"), "-address", f"127.0.0.1:{self.server.port}"),
            *("-path", self.path, "-body", self.body.name, "-expect", self.expect),
            *("-rate", str(rate), "-connections", str(connections), "-seconds", str(seconds)),
        )
        return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)

    def classify(self, values: dict[str, float], right: float) -> None:
        """Fail the row for wrong answers."""
        if values["wrong"] or values["errors"]:
            raise BenchError(f"{self.server.peer.title}: {values}\n{self.server.said()}")
