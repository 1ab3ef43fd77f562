"""FastAPI on uvicorn with uvloop and httptools, or on granian."""

from __future__ import annotations

from lib.options import Options
from lib.peers.base import Peer, Setting

# What each server stands on, beside FastAPI and pydantic.
STANDS_ON = {"uvicorn": ("uvicorn", "uvloop", "httptools"), "granian": ("granian", "uvloop")}


class FastAPI(Peer):
    """It has no workers apart from its HTTP server: the model runs in the same process."""

    family = "fastapi"

    def __init__(self, name: str = "fastapi", server: str = "uvicorn") -> None:
        self.name, self.title, self.server = name, f"FastAPI, {server}", server

    def command(self, s: Setting) -> list[str]:
        """Return the command that serves."""
        flags = {
            "uvicorn": ("--no-access-log",),
            "granian": ("--interface", "asgi", "--loop", "uvloop"),
        }
        return [
            *(self.python, "-m", self.server, "service:app", "--host", "127.0.0.1"),
            *("--port", str(s.port), "--workers", str(s.workers), "--log-level", "error"),
            *flags[self.server],
        ]

    def version(self, options: Options) -> str:
        """Return the versions of FastAPI and of what it stands on."""
        pins = (self.home / "requirements.txt").read_text().split()
        named = ("pydantic", *STANDS_ON[self.server])
        return ", ".join(
            [
                super().version(options),
                *(p.replace("==", " ") for p in pins if p.partition("==")[0] in named),
            ]
        )
