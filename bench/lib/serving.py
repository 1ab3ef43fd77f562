"""A server as a process of its own: started, waited for, asked, ended."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lib import processes
from lib.options import ROOT

PINION = ROOT / "bin/pinion"


class BenchError(SystemExit):
    """A server did what makes its figures worthless. Uncaught, it ends the program with its text."""


def free_port() -> int:
    """Return a port that is free now."""
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


@dataclass
class Server:
    """A server that is up."""

    name: str
    port: int
    process: subprocess.Popen[bytes]

    def cpu(self) -> float:
        """Seconds of CPU that the server and its children have used."""
        return processes.cpu(processes.tree(self.process.pid))

    def ask(self, path: str, body: Any = None) -> Any:
        """GET, or POST where there is a body; return what the JSON says. Raises OSError for an error's status."""
        request = urllib.request.Request(
            f"http://127.0.0.1:{self.port}{path}",
            None if body is None else json.dumps(body).encode(),
            {"Content-Type": "application/json"},
        )
        with urllib.request.urlopen(request, timeout=300) as answer:
            return json.loads(answer.read() or "null")


@contextlib.contextmanager
def serving(
    name: str,
    command: list[object],
    port: int,
    up: Callable[[Server], Any],
    poll_budget: float = 60,
    **popen: Any,
) -> Iterator[Server]:
    """Run a server in a session of its own, from when up returns something true; until then it may raise OSError."""
    with contextlib.suppress(ValueError):  # in another thread: the main one has set it
        signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # as Ctrl-C: the servers are ended
    process = subprocess.Popen([str(word) for word in command], start_new_session=True, **popen)
    server, end = Server(name, port, process), time.monotonic() + poll_budget
    try:
        while process.poll() is None and time.monotonic() < end:
            with contextlib.suppress(OSError):
                if up(server):
                    break
            time.sleep(0.005)
        else:
            code = process.poll()
            why = (
                f"is not up after {poll_budget:g} s" if code is None else f"ended with code {code}"
            )
            raise BenchError(f"{name} {why}")
        yield server
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGTERM)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(30)
        process.kill()
        process.wait()


def ready(server: Server) -> bool:
    """Tell whether Pinion's model is set up."""
    health = server.ask("/health-check")
    if health["status"] in ("SETUP_FAILED", "DEFUNCT"):
        raise BenchError(f"{server.name}: setup failed: {health}")
    return health["status"] == "READY"


def pinion(
    name: str,
    model: Path,
    *flags: object,
    port: int = 0,
    binary: object = PINION,
    up: Callable[[Server], Any] = ready,
    **more: Any,
) -> contextlib.AbstractContextManager[Server]:
    """Run Pinion with a model's folder; more is of serving."""
    port = port or free_port()
    command = [binary, "serve", model, "--host", "127.0.0.1", "--port", port, *flags]
    return serving(name, command, port, up, **more)
