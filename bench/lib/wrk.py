"""wrk with load.lua, which checks every answer."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Sequence

from lib.options import BENCH
from lib.serving import BenchError


def command(port: int, connections: int, seconds: float) -> list[str]:
    """Return the command that asks in a closed loop: each connection when it was answered."""
    return [
        *("wrk", "-t1", f"-c{connections}", f"-d{seconds:g}s", "--timeout", "60s", "--latency"),
        *("-s", str(BENCH / "load.lua"), f"http://127.0.0.1:{port}"),
    ]


def figures(load: Sequence[object], environment: dict[str, str]) -> dict[str, float]:
    """Run a load, and return what its line RESULT says."""
    run = subprocess.run(
        [str(word) for word in load],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=False,
    )
    found = re.search(r"RESULT (.*)", run.stdout)
    if not found:
        raise BenchError(run.stdout + run.stderr)
    return {key: float(value) for key, value in (part.split("=") for part in found[1].split())}


def faultless(name: str, values: dict[str, float]) -> dict[str, float]:
    """Return the figures of a load of which every request was answered right."""
    if not values["requests"] or any(values.get(key) for key in ("wrong", "refused", "errors")):
        raise BenchError(f"{name}: wrong answers: {values}")
    return values
