"""A small request while another server's worker is busy with a large one."""

from __future__ import annotations

import signal
from typing import Any

from lib import tables
from lib.load import Load
from lib.options import Options
from lib.peers import Peer
from lib.results import Results
from lib.rows.base import Row
from lib.server import Server, example

LARGE = 50_000_000
RATE = 400


class Beside(Row):
    """bench/load at a fixed rate, beside a closed loop of one large request."""

    name = "beside"
    title = "A small request while a 50 MB one is in progress"
    workers = 2
    # The last: the small ones are the bare handler's, which has nothing else to do while the server has the large one.
    points = ("alone", "beside", "machine")
    peers = ("bare", "pinion", "coglet-async32", "mosec", "litserve", "bentoml", "fastapi")
    text = """\
Echo of 16 characters at a fixed rate of 400 a second, alone and while another client echoes 50 MB again and again. Each server has two workers
(coglet: 32 async slots in one worker), so one slot is free. Both clients share the machine with the server. The last column shows what the machine
allows: the same small requests to an idle bare handler while the server of the line has the large one."""

    def __init__(self, options: Options) -> None:
        super().__init__(options)
        self.bare: Load | None = None  # of the small ones

    def prepare(self, server: Server) -> tuple[Load, Load]:
        """Return the small and the large."""
        large = {"text": "x" * LARGE}
        small = Load(server, *example("echo"))
        if server.peer.name == "bare":
            self.bare = small
        return small, Load(server, large, large["text"])

    def skips(self, peer: Peer, point: str) -> bool:
        """Tell whether the bare handler would have to be another one."""
        return point == "machine" and (self.bare is None or peer.name == "bare")

    def warm(self, server: Server, prepared: Any) -> None:
        """Warm up with both."""
        prepared[0].closed(8, 1)
        prepared[1].open(0, 1, 1)

    def sample(self, server: Server, prepared: Any, point: str) -> dict[str, float]:
        """Run the small ones, with or without the large."""
        small, large = prepared
        if point == "machine":
            assert self.bare is not None
            small = self.bare
        if point == "alone":
            return small.open(RATE, 32, self.options.seconds)
        with large.start(0, 1, 600) as other:
            try:
                found = small.open(RATE, 32, self.options.seconds)
            finally:
                other.send_signal(signal.SIGKILL)
        return found

    def report(self, r: Results) -> list[str]:
        """Both latencies."""
        return tables.latencies(r, self.points, ["alone", "beside 50 MB", "bare handler meanwhile"])
