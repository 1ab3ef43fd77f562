"""`import cog` is nearly free: every worker and every child of a model begins with it."""

from __future__ import annotations

import os
import subprocess
import sys

SDK = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


def microseconds(module: str) -> int:
    """Return what an import takes with all that it pulls in, as Python has it; the best of five."""
    times = []
    for _ in range(5):
        done = subprocess.run(
            [sys.executable, "-S", "-X", "importtime", "-c", f"import {module}"],
            env={"PYTHONPATH": SDK},
            capture_output=True,
            text=True,
            check=True,
            cwd="/",
        )
        for line in done.stderr.splitlines():
            _, cumulative, name = line.replace("import time:", "").split("|")
            if name.strip() == module:
                times.append(int(cumulative))
    return min(times)


def test_cog_takes_less_than_one_module_of_the_standard_library():
    # typing takes some 3 ms where cog takes 0.2 ms, and both get slower together on a busy machine.
    assert microseconds("cog") < microseconds("typing")
