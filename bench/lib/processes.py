"""Figures of the process table: descendants, CPU time, memory."""

from __future__ import annotations

import contextlib
import os
import re
from pathlib import Path

TICK = os.sysconf("SC_CLK_TCK")


def tree(pid: int) -> list[int]:
    """Return a process and its descendants."""
    found = [pid]
    with contextlib.suppress(OSError):
        for task in Path(f"/proc/{pid}/task").iterdir():
            with contextlib.suppress(OSError):  # threads come and go
                for child in (task / "children").read_text().split():
                    found += tree(int(child))
    return found


def cpu(pids: list[int]) -> float:
    """Seconds of CPU that processes have used."""
    total = 0.0
    for pid in pids:
        with contextlib.suppress(OSError):
            fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
            total += (int(fields[11]) + int(fields[12])) / TICK
    return total


def memory(pids: list[int]) -> float:
    """MiB that processes have, shared pages divided among those that share them (PSS)."""
    total = 0
    for pid in pids:
        with contextlib.suppress(OSError):
            text = Path(f"/proc/{pid}/smaps_rollup").read_text()
            total += int(re.search(r"^Pss:\s+(\d+)", text, re.MULTILINE)[1])
    return total / 1024


def alive(pid: int) -> bool:
    """Tell whether a process is there and is not a zombie."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return False
