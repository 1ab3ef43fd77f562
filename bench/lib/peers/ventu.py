"""Workers of ventu behind batching, the Go program that they were written for, and behind `pinion batching`."""

from __future__ import annotations

from lib.options import CACHE, Options
from lib.peers.base import Peer, Setting

BATCHING = CACHE / "go/batching"


class Ventu(Peer):
    """It batches everything that it serves. Bodies above 36 kB or so end its worker; 4 MB is its server's limit."""

    name = family = "ventu"
    title = "batching + ventu"
    largest_body = 32 << 10

    def missing(self, options: Options) -> str:
        """Its server is fetched by `go install`, where Go's module proxy has it."""
        return super().missing(options) or (
            "" if BATCHING.exists() else "go install could not fetch github.com/kemingy/batching"
        )

    def server(self, s: Setting) -> list[str]:
        """Return the server's command."""
        return [str(BATCHING)]

    def command(self, s: Setting) -> list[str]:
        """Return the command that serves."""
        return [*super().command(s), *self.server(s)]


class PinionBatching(Ventu):
    """The same worker behind `pinion batching`."""

    name = "pinion-batching"
    title = "pinion batching + ventu"
    largest_body = 1 << 40

    def missing(self, options: Options) -> str:
        """It needs only ventu."""
        return Peer.missing(self, options)

    def server(self, s: Setting) -> list[str]:
        """Return the server's command."""
        return [str(s.options.pinion), "batching", "-log-level", "error"]
