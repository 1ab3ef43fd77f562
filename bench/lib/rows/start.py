"""Start to the first answer, and the memory and CPU time of an idle server."""

from __future__ import annotations

import contextlib
import subprocess
import time
import urllib.request

from lib import processes, tables
from lib.options import Options
from lib.peers import ALL, Peer
from lib.results import PASS, Results
from lib.rows.base import Row
from lib.server import Server

COLUMNS = {
    "first": "first answer, s",
    "memory": "memory at rest, MiB",
    "processes": "processes",
    "idle": "CPU at rest, % of a core",
}


class Start(Row):
    """One server at a time."""

    name = "start"
    points = ("rest",)
    title = "Start, and rest"
    peers = (
        *(
            "bare",
            "pinion",
            "pinion-grpc",
            "coglet",
            "mosec",
            "litserve",
            "bentoml",
            "fastapi",
            "ray",
        ),
        *("ventu", "pinion-batching"),
    )
    text = """\
From the start of the process to the first correct answer of the echo model, with a request every 3 ms; files are in the page cache. Two seconds
later: memory of all processes (PSS: shared pages are divided among the processes that share them) and CPU time at rest."""

    def run(self) -> None:
        """Start each in turn."""
        chosen = self.chosen()
        for turn in range(self.options.rounds):
            self.keep(PASS, "rest", turn, {"first": python(ALL["pinion"])})
            for peer in chosen:
                # 20 s, once are enough
                if peer.name not in self.notes and not (peer.alone and turn):
                    with self.guarded(peer):
                        self.once(peer, turn)

    def once(self, peer: Peer, turn: int) -> None:
        """Start a server, let it rest, end it."""
        with contextlib.closing(Server(peer, self.options, "echo")) as server:
            values = {"first": server.first_answer()}
            time.sleep(2)
            pids = server.pids()
            before = processes.cpu(pids)
            values["memory"], values["processes"] = processes.memory(pids), len(pids)
            values["front"] = processes.memory(pids[:1])
            time.sleep(1)
            values["idle"] = (processes.cpu(pids) - before) * 100
        if peer.name in ("pinion", "pinion-grpc"):
            values["ready"] = ready(peer, self.options)
        self.keep(peer.name, "rest", turn, values)

    def report(self, r: Results) -> list[str]:
        """One table."""
        columns = list(COLUMNS)
        heads = list(COLUMNS.values())
        ready = tables.value(r, "pinion", "rest", "ready", 1e3)
        interpreter = tables.value(r, PASS, "rest", "first", 1e3)
        front = tables.value(r, "pinion", "rest", "front")
        sentence = (
            f"Pinion says READY after {ready} ms; `{PASS}` takes {interpreter} ms. Its front has {front} MiB of that memory, "
            "the worker with the interpreter the rest."
        )
        if r.median("pinion-grpc", "rest", "ready") is not None:
            grpc = tables.value(r, "pinion-grpc", "rest", "ready", 1e3)
            more = tables.value(r, "pinion-grpc", "rest", "front")
            sentence += f" With `--grpc-port` it is {grpc} ms and {more} MiB."
        return [
            *tables.grid(r, columns, heads, lambda p, c: tables.value(r, p, "rest", c)),
            sentence,
            "",
        ]


def python(peer: Peer) -> float:
    """Seconds that an interpreter takes to start and end."""
    subprocess.run(
        [peer.python, "-c", "pass"], check=True
    )  # as with the servers, its files are in memory
    began = time.perf_counter()
    subprocess.run([peer.python, "-c", "pass"], check=True)
    return time.perf_counter() - began


def ready(peer: Peer, options: Options) -> float:
    """Seconds from the start to READY."""
    with contextlib.closing(Server(peer, options, "echo")) as server:
        url = f"http://127.0.0.1:{server.port}/health-check"
        while server.process.poll() is None:
            with contextlib.suppress(OSError), urllib.request.urlopen(url) as answer:
                if b'"READY"' in answer.read():
                    return time.perf_counter() - server.began
            time.sleep(0.002)
        raise OSError("it ended: " + server.said())
