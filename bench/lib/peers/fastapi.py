"""FastAPI on uvicorn, with uvloop and httptools."""

from __future__ import annotations

from lib.options import Options
from lib.peers.base import Peer, Setting


class FastAPI(Peer):
    """It has no workers apart from its HTTP server: the model runs in the same process."""

    name = family = "fastapi"
    title = "FastAPI, uvicorn"

    def command(self, s: Setting) -> list[str]:
        """Return the command that serves."""
        return [
            *(
                self.python,
                "-m",
                "uvicorn",
                "service:app",
                "--host",
                "127.0.0.1",
                "--port",
                str(s.port),
            ),
            *("--workers", str(s.workers), "--no-access-log", "--log-level", "error"),
        ]

    def version(self, options: Options) -> str:
        """Return the versions of FastAPI and of what it stands on."""
        mine = super().version(options)
        pins = (self.home / "requirements.txt").read_text().split()
        return ", ".join(
            [mine, *(p.replace("==", " ") for p in pins if not p.startswith("fastapi"))]
        )
