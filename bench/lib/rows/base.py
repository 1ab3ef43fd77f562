"""The base of all rows: servers run together, and are loaded in turn, round after round."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator
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
    # The first is the baseline: it is always measured, also without --peers.
    peers: tuple[str, ...] = ()
    text = ""  # for the page: what is measured, and what may mislead

    points: tuple[str, ...] = ()  # what is measured of each server, each by one load

    def __init__(self, options: Options) -> None:
        self.options = options
        self.samples: list[Sample] = []
        self.notes: dict[str, str] = {}

    # ---- what a row says ----

    def prepare(self, server: Server) -> Any:
        """Return what sample needs of a server; here: the load of the work's example."""
        return Load(server, *example(self.work))

    def warm(self, server: Server, prepared: Any) -> None:
        """Warm a server up."""
        prepared.closed(8, 1)

    def sample(self, server: Server, prepared: Any, point: str) -> dict[str, float]:
        """Measure once."""
        raise NotImplementedError

    def wanted(self, peer: Peer) -> dict[str, Any]:
        """Return the settings of a server, besides the number of workers."""
        return {}

    def skips(self, peer: Peer, point: str) -> bool:
        """Tell whether a server cannot do a point, according to its documentation."""
        return False

    def report(self, results: Results) -> list[str]:
        """Return the row's tables."""
        raise NotImplementedError

    def plots(self, results: Results) -> dict[str, Any]:
        """Return pictures by name, as plot.py wants them."""
        return {}

    # ---- how it runs ----

    def chosen(self) -> list[Peer]:
        """Return the servers to measure; a reason is noted for each that cannot be."""
        found = []
        for name in self.peers:
            if self.options.peers and name not in self.options.peers and name != self.peers[0]:
                continue
            why = ALL[name].missing(self.options)
            if why:
                self.notes[name] = why
                say(f"{self.name}: without {name}: {why}")
            else:
                found.append(ALL[name])
        return found

    def run(self) -> None:
        """Measure: first all that may run together, then each that must run alone, with the baseline."""
        chosen = self.chosen()
        groups = [[p for p in chosen if not p.alone]]
        groups += [
            [q for q in chosen if q is p or q.name == self.peers[0]] for p in chosen if p.alone
        ]
        for number, group in enumerate(groups):
            if len(group) > 1 or len(groups) == 1:
                self.turns(group, number)

    def turns(self, group: list[Peer], number: int) -> None:
        """Start a group's servers, check and warm up each, and load them in turn."""
        up: dict[Server, Any] = {}
        with contextlib.ExitStack() as stack:
            for peer in group:
                with self.guarded(peer):
                    wanted = {"workers": self.workers, **self.wanted(peer)}
                    server = Server(peer, self.options, self.work, **wanted)
                    stack.callback(server.close)
                    server.first_answer()
                    if peer.name != "bare":
                        server.check()
                    up[server] = self.prepare(server)
                    self.warm(server, up[server])
            for turn in range(self.options.rounds):
                for point in self.points:
                    for server, prepared in list(up.items()):
                        peer = server.peer
                        if self.skips(peer, point):
                            continue
                        kept = False
                        with self.guarded(peer):
                            values = self.sample(server, prepared, point)
                            self.keep(peer.name, point, turn, values, number)
                            kept = True
                        if not kept:
                            del up[server]

    def keep(
        self, peer: str, point: str, turn: int, values: dict[str, float], number: int = 0
    ) -> None:
        """Keep a sample."""
        rounded = {key: float(f"{value:.5g}") for key, value in values.items()}
        place = {"pass": number} if number else {}
        self.samples.append({"peer": peer, "point": point, "round": turn, **place, **rounded})
        say(f"{self.name} {point} {peer}: " + " ".join(f"{k}={v:g}" for k, v in rounded.items()))

    @contextlib.contextmanager
    def guarded(self, peer: Peer) -> Iterator[None]:
        """Do something with a server. If that fails, it leaves the row with a note, and the others continue."""
        try:
            yield
        except (BenchError, OSError, ValueError, KeyError) as error:
            self.notes[peer.name] = f"{type(error).__name__}: {error}"[:600]
            self.samples = [s for s in self.samples if s["peer"] != peer.name]
            say(f"{self.name}: {peer.name} failed: {error}")


def say(text: str) -> None:
    """Print progress."""
    print(text, file=sys.stderr, flush=True)
