"""Ten thousand idle connections."""

from __future__ import annotations

import contextlib
import socket
import time

from lib import processes, tables
from lib.load import Load
from lib.peers import Peer
from lib.results import Results
from lib.rows.base import Row
from lib.server import Server, example
from lib.serving import BenchError

COUNT = 10_000
COLUMNS = {"memory": "memory before, MiB", "held": "with them, MiB", "lost": "connections lost"}


class Idle(Row):
    """Connections that asked once and stay."""

    name = "idle"
    points = ("held",)
    title = "10 000 idle connections"
    peers = ("bare", "pinion", "coglet", "mosec", "litserve", "bentoml", "fastapi")
    text = """\
Each connection sends one request and stays open. Memory is that of all processes of the server (PSS), with the connections after ten seconds of silence. The
rate is that of wrk on 64 other connections meanwhile, of the mean of that before and that after. A connection is lost if the server has closed it by the
end; uvicorn's servers (FastAPI, LitServe, BentoML) close idle connections after 5 s by default. A bare fasthttp needs about 16 kB for each connection; Pinion
parks idle ones and needs that only for the others."""

    def run(self) -> None:
        """One server at a time: one client cannot have more connections at once."""
        for peer in self.chosen():
            with self.guarded(peer):
                self.once(peer)

    def once(self, peer: Peer) -> None:
        """Measure a server before, with and after the connections, round by round."""
        with contextlib.closing(Server(peer, self.options, "echo")) as server:
            server.first_answer()
            load = Load(server, *example("echo"))
            before = self.rate(load)
            for turn in range(self.options.rounds):
                values: dict[str, float] = {}
                memory = processes.memory(server.pids())
                with contextlib.ExitStack() as stack:
                    held = connect(server, stack)
                    time.sleep(10)
                    if turn == 0:  # later, memory that was free for reuse is in it
                        values |= {"memory": memory, "held": processes.memory(server.pids())}
                    values["meanwhile"] = self.rate(load)
                    values["lost"] = sum(map(closed, held))
                after = self.rate(load)
                values["without"] = (before + after) / 2
                values["share"] = values["meanwhile"] / values["without"] if before + after else 0
                self.keep(peer.name, "held", turn, values)
                before = after

    def rate(self, load: Load) -> float:
        """Measure, once the server is warm."""
        load.closed(64, 1)
        return load.closed(64, self.options.seconds)["rate"]

    def report(self, r: Results) -> list[str]:
        """One table."""

        def cell(peer: str, column: str) -> str:
            if column == "rate":
                return f"{r.median(peer, 'held', 'share') or 0:.2f}"
            return tables.value(r, peer, "held", column)

        return tables.grid(
            r, [*COLUMNS, "rate"], [*COLUMNS.values(), "rate meanwhile, of that without them"], cell
        )


def connect(server: Server, stack: contextlib.ExitStack) -> list[socket.socket]:
    """Open the connections, each with one request that is answered (maybe refused, which is an answer too)."""
    body = server.request(example("echo")[0])
    head = f"POST {server.peer.route('echo')} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
    request = f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body
    held = []
    for _ in range(COUNT):
        connection = stack.enter_context(
            socket.create_connection(("127.0.0.1", server.port), timeout=30)
        )
        connection.sendall(request)
        if not connection.recv(4096).startswith(b"HTTP/1.1 "):
            raise BenchError(f"{server.peer.title} did not answer connection {len(held)}")
        held.append(connection)
    return held


def closed(connection: socket.socket) -> bool:
    """Tell whether the other side has closed a connection."""
    connection.setblocking(False)
    try:
        while True:
            if not connection.recv(4096):
                return True
    except BlockingIOError:
        return False
    except OSError:
        return True
