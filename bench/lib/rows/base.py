"""What all rows have in common: servers up together, loaded in turn, round after round."""

from __future__ import annotations

import sys
from typing import Any

from lib.load import Load
from lib.options import Options
from lib.peers import ALL, Peer
from lib.results import Results, Sample
from lib.server import Server, example
from lib.serving import BenchError


class Row:
    """One kind of work."""

    name = ""
    title = ""
    work = "echo"
    workers = 1
    # The first is the yardstick: it is always measured, also without --peers.
    peers: tuple[str, ...] = ()
    text = ""  # for the page: what is measured, and what may mislead

    def __init__(self) -> None:
        self.samples: list[Sample] = []
        self.notes: dict[str, str] = {}

    # ---- what a row says ----

    def points(self, options: Options) -> list[str]:
        """Return what is measured of each server, each by one load."""
        raise NotImplementedError

    def prepare(self, server: Server, options: Options) -> Any:
        """Return what sample needs of a server; here: the load of the work's example."""
        value, output = example(self.work)
        return Load(server, options, value, output)

    def warm(self, server: Server, prepared: Any, options: Options) -> None:
        """Warm a server up."""
        prepared.closed(8, 1)

    def sample(
        self, server: Server, prepared: Any, point: str, options: Options
    ) -> dict[str, float]:
        """Measure once."""
        raise NotImplementedError

    def wanted(self, peer: Peer) -> dict[str, Any]:
        """Return how a server is to be started, beside the number of workers."""
        return {}

    def skips(self, peer: Peer, point: str) -> bool:
        """Tell whether a server cannot do a point, by what its makers say."""
        return False

    def report(self, results: Results) -> list[str]:
        """Return the row's tables."""
        raise NotImplementedError

    def plots(self, results: Results) -> dict[str, Any]:
        """Return pictures by name, as plot.py wants them."""
        return {}

    # ---- how it runs ----

    def chosen(self, options: Options) -> list[Peer]:
        """Return the servers to measure; a reason is noted for each that cannot be."""
        found = []
        for name in self.peers:
            if options.peers and name not in options.peers and name != self.peers[0]:
                continue
            why = ALL[name].missing(options)
            if why:
                self.notes[name] = why
                say(f"{self.name}: without {name}: {why}")
            else:
                found.append(ALL[name])
        return found

    def run(self, options: Options) -> None:
        """Measure: first all that may stand side by side, then each that must be alone, with the yardstick."""
        chosen = self.chosen(options)
        groups = [[p for p in chosen if not p.alone]]
        groups += [
            [q for q in chosen if q is p or q.name == self.peers[0]] for p in chosen if p.alone
        ]
        for number, group in enumerate(groups):
            if len(group) > 1 or len(groups) == 1:
                self.turns(group, number, options)

    def turns(self, group: list[Peer], number: int, options: Options) -> None:
        """Start a group's servers and load them in turn."""
        up: dict[Server, Any] = {}
        started: list[Server] = []
        try:
            for peer in group:
                self.guarded(peer, lambda peer=peer: self.start(peer, started, up, options))
            for turn in range(options.rounds):
                for point in self.points(options):
                    for server in list(up):
                        if not self.skips(server.peer, point):
                            self.turn(server, up, point, turn, number, options)
        finally:
            for server in started:
                server.stop()

    def start(
        self, peer: Peer, started: list[Server], up: dict[Server, Any], options: Options
    ) -> None:
        """Start one server, check it and warm it up."""
        server = Server(peer, options, self.work, workers=self.workers, **self.wanted(peer))
        started.append(server)
        server.first_answer()
        if peer.name != "bare":
            server.check()
        prepared = self.prepare(server, options)
        self.warm(server, prepared, options)
        up[server] = prepared

    def turn(
        self,
        server: Server,
        up: dict[Server, Any],
        point: str,
        turn: int,
        number: int,
        options: Options,
    ) -> None:
        """Measure one server at one point, once."""

        def measure() -> None:
            values = self.sample(server, up[server], point, options)
            self.keep(server.peer.name, point, turn, values, number)

        if not self.guarded(server.peer, measure):
            del up[server]

    def keep(
        self, peer: str, point: str, turn: int, values: dict[str, float], number: int = 0
    ) -> None:
        """Keep a sample."""
        rounded = {key: float(f"{value:.5g}") for key, value in values.items()}
        place = {"pass": number} if number else {}
        self.samples.append({"peer": peer, "point": point, "round": turn, **place, **rounded})
        say(f"{self.name} {point} {peer}: " + " ".join(f"{k}={v:g}" for k, v in rounded.items()))

    def guarded(self, peer: Peer, action: Any) -> bool:
        """Do something with a server; where that fails it is out of the row, with a note, and the others go on."""
        try:
            action()
        except (BenchError, OSError, ValueError, KeyError) as error:
            self.notes[peer.name] = f"{type(error).__name__}: {error}"[:600]
            self.samples = [s for s in self.samples if s["peer"] != peer.name]
            say(f"{self.name}: {peer.name} failed: {error}")
            return False
        return True


def say(text: str) -> None:
    """Tell how it goes."""
    print(text, file=sys.stderr, flush=True)
