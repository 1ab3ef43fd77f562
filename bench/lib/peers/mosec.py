"""MOSEC."""

from __future__ import annotations

from lib.peers.base import Peer, Setting


class Mosec(Peer):
    """Its limits on time and size are raised, for some rows would meet them."""

    family = "mosec"

    def __init__(
        self, name: str = "mosec", title: str = "MOSEC", wait_ms: str = "", batch: str = "16"
    ) -> None:
        self.name, self.title, self.wait_ms, self.batch = name, title, wait_ms, batch

    def environment(self, s: Setting) -> dict[str, str]:
        """Return what is added to the environment."""
        more = {"BATCH": self.batch, "WAIT_MS": self.wait_ms or s.wait_ms}
        return {**super().environment(s), **more}

    def command(self, s: Setting) -> list[str]:
        """Return the command that serves."""
        return [
            *(self.python, "service.py", "--address", "127.0.0.1", "--port", str(s.port)),
            *("--timeout", "60000", "--max-request-size", str(200 << 20), "--log-level", "error"),
        ]
