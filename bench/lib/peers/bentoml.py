"""BentoML."""

from __future__ import annotations

import json
from typing import Any

from lib.peers.base import Peer, Setting


class BentoML(Peer):
    """Its batched methods take and give lists, and have no object around the output."""

    name = family = "bentoml"
    title = "BentoML"

    def command(self, s: Setting) -> list[str]:
        """Return the command that serves."""
        return [
            *(self.python, "-m", "bentoml", "serve", "service:Service"),
            *("--host", "127.0.0.1", "--port", str(s.port)),
        ]

    def environment(self, s: Setting) -> dict[str, str]:
        """Return what is added to the environment."""
        quiet = {"BENTOML_DO_NOT_TRACK": "True", "BENTOML_HOME": str(s.folder), "NO_COLOR": "1"}
        return {**super().environment(s), **quiet}

    def request(self, value: dict[str, Any], work: str) -> bytes:
        """Return a request's body."""
        return (
            json.dumps({"input": [value["x"]]}).encode()
            if "batch" in work
            else super().request(value, work)
        )

    def output(self, body: bytes) -> Any:
        """Return the output that an answer has."""
        found = json.loads(body)
        return found[0] if isinstance(found, list) else found["output"]

    def marked(self, text: str) -> list[str]:
        """Return how the JSON of an output may stand in an answer."""
        return [*super().marked(text), f"[{text}]"]
