"""LitServe."""

from __future__ import annotations

from lib.peers.base import Peer


class LitServe(Peer):
    """One API server and one worker."""

    name = family = "litserve"
    title = "LitServe"
