"""The facts about the machine that a reader needs."""

from __future__ import annotations

import os
import platform
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

from lib.options import CACHE, Options


def about(options: Options) -> dict[str, Any]:
    """Describe the machine and the settings of a run."""
    text = Path("/proc/cpuinfo").read_text()
    model = re.search(r"model name\s*: (.*)", text)
    memory = int(re.search(r"MemTotal:\s+(\d+)", Path("/proc/meminfo").read_text())[1])
    cpus = f"{len(os.sched_getaffinity(0))} CPUs"
    virtual = ", virtual" if "hypervisor" in text else ""
    return {
        "machine": f"{model[1] if model else platform.machine()}{virtual}, {cpus}, {memory >> 20} GiB",
        "system": f"Linux {platform.release().split('-')[0]}",
        "python": python_version(),
        "wrk": wrk_version(),
        "rounds": options.rounds,
        "seconds": options.seconds,
        "pinned": f"servers {options.server_cpus or 'nowhere'}, clients {options.client_cpus or 'nowhere'}",
        "load before": load_average(),
    }


def load_average() -> float:
    """Return how many processes wanted a CPU in the last minute."""
    return round(os.getloadavg()[0], 2)


def python_version() -> str:
    """Return the version of the servers' Python."""
    python = CACHE / "venvs/pinion/bin/python"
    command = [str(python) if python.exists() else sys.executable, "-V"]
    return subprocess.run(command, capture_output=True, text=True, check=False).stdout.strip()


def wrk_version() -> str:
    """Return wrk's name and version."""
    text = subprocess.run(["wrk", "-v"], capture_output=True, text=True, check=False).stdout
    return " ".join(text.split()[:2])
