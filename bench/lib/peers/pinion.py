"""Pinion, with the models of bench/models."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

from lib.options import BENCH, Options
from lib.peers.base import Peer, Setting


class Pinion(Peer):
    """Settings that matter: a queue, as the others have one, and no log line a request."""

    family = "pinion"

    def __init__(
        self,
        name: str = "pinion",
        title: str = "Pinion",
        models: dict[str, str] | None = None,
        flags: tuple[str, ...] = (),
    ) -> None:
        self.name, self.title = name, title
        self.models = models or {}  # by work, where they are not the usual ones
        self.flags = flags

    def model(self, work: str) -> Path:
        """Return the model's folder."""
        usual = "sync" if work == "echo" else work
        return BENCH / "models" / self.models.get(work, usual)

    def command(self, s: Setting) -> list[str]:
        """Return the command that serves."""
        wait = ["--batch-wait", f"{s.wait_ms}ms"] if s.wait_ms else []
        return [
            *(str(s.options.pinion), "serve", str(self.model(s.work)), "--python", self.python),
            *("--host", "127.0.0.1", "--port", str(s.port), "--queue", "1024"),
            *("--workers", str(s.workers), "--log-level", "error", *wait, *self.flags),
        ]

    def version(self, options: Options) -> str:
        """Return what the binary says."""
        command = [str(options.pinion), "version"]
        text = subprocess.run(command, capture_output=True, text=True, check=False).stdout
        found = re.match(r"pinion (\S+) \(commit (\w+)", text)
        return f"{found[1]}, commit {found[2]}" if found else ""
