"""Cog's own runtime, with the models of bench/models, which run in it as they are."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

from lib.options import BENCH, CACHE
from lib.peers.base import Peer, Setting


class Coglet(Peer):
    """It wants the schema that `cog build` makes; Pinion's /openapi.json is that schema."""

    family = "coglet"
    package = "cog"

    def __init__(
        self, name: str = "coglet", title: str = "coglet (Cog)", echo: str = "sync"
    ) -> None:
        self.name, self.title, self.echo = name, title, echo

    def folder(self, s: Setting) -> Path:
        """Make a folder as `cog build` leaves it: the model, and its schema beside it."""
        model = BENCH / "models" / (self.echo if s.work == "echo" else s.work)
        shutil.copytree(model, s.folder, dirs_exist_ok=True)
        (s.folder / ".cog").mkdir(exist_ok=True)
        (s.folder / ".cog/openapi_schema.json").write_bytes(schema(s, model))
        return s.folder

    def command(self, s: Setting) -> list[str]:
        """Return the command that serves."""
        return [self.python, "-m", "cog.server.http", "--host", "127.0.0.1"]

    def environment(self, s: Setting) -> dict[str, str]:
        """Return what is added to the environment."""
        more = {
            "PORT": str(s.port),
            "COG_PREDICT_TYPE_STUB": "run.py:Runner",
            "COG_LOG_LEVEL": "error",
        }
        if s.work == "await":
            more["COG_MAX_CONCURRENCY"] = "64"
        elif self.echo == "async32":
            more["COG_MAX_CONCURRENCY"] = "32"
        return {**super().environment(s), **more, "PYTHONPATH": ""}


def schema(s: Setting, model: Path) -> bytes:
    """Ask Pinion for a model's schema."""
    python = CACHE / "venvs/pinion/bin/python"
    command = [str(s.options.pinion), "schema", str(model), "--python", str(python)]
    return subprocess.run(command, capture_output=True, check=True).stdout
