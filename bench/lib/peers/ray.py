"""Ray Serve."""

from __future__ import annotations

from lib.peers.base import Peer, Setting


class Ray(Peer):
    """A dozen processes that use CPU while idle, and 20 s to start: it is measured alone, with the baseline."""

    name = family = "ray"
    title = "Ray Serve"
    alone = True
    start_seconds = 180

    def route(self, work: str) -> str:
        """Return the path of its predictions: one class has the methods of all."""
        return f"/{work}"

    def environment(self, s: Setting) -> dict[str, str]:
        """Return what is added to the environment."""
        return {**super().environment(s), "RAY_USAGE_STATS_ENABLED": "0"}
