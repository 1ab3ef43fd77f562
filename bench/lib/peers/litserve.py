"""LitServe."""

from __future__ import annotations

from lib.peers.base import Peer, Setting


class LitServe(Peer):
    """One API server and one worker."""

    name = package = "litserve"
    title = "LitServe"

    def command(self, s: Setting) -> list[str]:
        """Return the command that serves."""
        return [self.python, "service.py", str(s.port)]
