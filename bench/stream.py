"""A stream of tokens in Pinion, Starlette on uvicorn, and Cog's own runtime, side by side.

Each server runs the same generator, which does nothing but yield. One client reads one stream
at a time; servers take turns, round after round, so that what the machine does meanwhile hits
all alike. `bench/stream.sh` builds what this needs and calls it.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request
from pathlib import Path

HERE = Path(__file__).resolve().parent
PINION = HERE.parent / "bin/pinion"
MODEL = HERE / "models/stream"


class Server:
    """A server under test."""

    def __init__(
        self,
        name: str,
        command: list[str],
        port: int,
        folder: Path,
        env: dict[str, str],
    ) -> None:
        self.name, self.port = name, port
        self.rates: list[float] = []
        self.first: list[float] = []
        self.log = tempfile.TemporaryFile()  # noqa: SIM115 (it lives as long as the server)
        self.process = subprocess.Popen(
            command,
            cwd=folder,
            env={**os.environ, **env},
            stdout=self.log,
            stderr=self.log,
        )
        self.wait()

    def wait(self) -> None:
        """Wait until the server is ready."""
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline and self.process.poll() is None:
            try:
                url = f"http://127.0.0.1:{self.port}/health-check"
                with urllib.request.urlopen(url, timeout=5) as answer:
                    if json.load(answer)["status"] == "READY":
                        return
            except OSError:
                pass
            time.sleep(0.02)
        self.log.seek(0)
        sys.exit(f"{self.name} did not come up:\n{self.log.read().decode()}")

    def stream(self, n: int) -> tuple[float, float]:
        """Read one stream of n tokens: seconds to the first token, and to the end.

        Cog's runtime refuses about one in ten requests of a client that asks one after the
        other, for it frees its slot after the answer is sent: such a request is sent again.
        """
        for _ in range(20):
            times = self.try_stream(n)
            if times:
                return times
            time.sleep(0.05)
        sys.exit(f"{self.name} refuses again and again")

    def try_stream(self, n: int) -> tuple[float, float] | None:
        """As stream; None where the server had no room."""
        body = json.dumps({"input": {"n": n}}).encode()
        head = (
            f"POST /predictions HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
            f"Accept: text/event-stream\r\nConnection: close\r\nContent-Length: {len(body)}\r\n\r\n"
        )
        with socket.create_connection(("127.0.0.1", self.port)) as connection:
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            began = time.perf_counter()
            connection.sendall(head.encode() + body)
            first, parts, seen = 0.0, [], b""
            while part := connection.recv(1 << 20):
                if not first:
                    seen += part
                    if b"event: output" in seen:
                        first = time.perf_counter() - began
                parts.append(part)
            whole = time.perf_counter() - began
        if b" 409 " in parts[0][:20]:
            return None
        # Chunks of the transfer coding may cut an event anywhere.
        text = join(b"".join(parts))
        count = text.count(b"event: output\n")
        if count != n or b"event: completed\n" not in text:
            sys.exit(f"{self.name} sent {count} of {n} tokens: {text[:300]!r} … {text[-300:]!r}")
        return first, whole

    def stop(self) -> None:
        """End the server."""
        self.process.send_signal(signal.SIGTERM)
        self.process.wait()


def join(response: bytes) -> bytes:
    """Return the body of a response in the chunked transfer coding."""
    rest = response.partition(b"\r\n\r\n")[2]
    parts = []
    while rest:
        size, _, rest = rest.partition(b"\r\n")
        length = int(size, 16)
        parts.append(rest[:length])
        rest = rest[length + 2 :]
        if length == 0:
            break
    return b"".join(parts)


def cog_folder(schema: bytes) -> Path:
    """Make a folder as `cog build` leaves it: the model, and its schema beside it."""
    folder = Path(tempfile.mkdtemp())
    shutil.copy(MODEL / "run.py", folder)
    (folder / ".cog").mkdir()
    (folder / ".cog/openapi_schema.json").write_bytes(schema)
    return folder


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument(
        "--tokens", type=int, default=20_000, help="of a stream whose rate is measured"
    )
    parser.add_argument("--port", type=int, default=5980, help="the first of three ports")
    parser.add_argument(
        "--python", default=sys.executable, help="of the servers; default: this one"
    )
    args = parser.parse_args()
    folder = Path(args.python).parent
    servers: list[Server] = []
    temporary: Path | None = None
    try:
        servers.append(
            Server(
                "pinion",
                [str(PINION), "serve", str(MODEL), "--host=127.0.0.1", f"--port={args.port}", "--log-level=error",
                 f"--python={args.python}"],
                args.port, HERE, {},
            )
        )  # fmt: skip
        schema = urllib.request.urlopen(f"http://127.0.0.1:{args.port}/openapi.json").read()
        servers.append(
            Server(
                "starlette, uvicorn",
                [str(folder / "uvicorn"), "stream_starlette:app", f"--port={args.port + 1}", "--no-access-log"],
                args.port + 1, HERE / "peers", {},
            )
        )  # fmt: skip
        temporary = cog_folder(schema)
        servers.append(
            Server(
                "cog's own runtime",
                [args.python, "-m", "cog.server.http", "--host=127.0.0.1"],
                args.port + 2, temporary,
                {"PORT": str(args.port + 2), "COG_PREDICT_TYPE_STUB": "run.py:Runner", "COG_LOG_LEVEL": "error",
                 "PATH": f"{folder}:{os.environ['PATH']}"},
            )
        )  # fmt: skip
        for server in servers:
            server.stream(1000)  # warm up
        for _ in range(args.rounds):
            for server in servers:
                server.first.append(server.stream(1)[0])
                server.rates.append(args.tokens / server.stream(args.tokens)[1])
        report(servers)
    finally:
        for server in servers:
            server.stop()
        if temporary:
            shutil.rmtree(temporary)


def report(servers: list[Server]) -> None:
    """Print medians; ratios are medians of each round's ratio."""
    print(f"{'':22}{'tokens/s':>10}{'pinion is':>11}{'first token, ms':>17}")
    for server in servers:
        ratio = statistics.median(
            p / r for p, r in zip(servers[0].rates, server.rates, strict=True)
        )
        print(
            f"{server.name:22}{statistics.median(server.rates):10.0f}{ratio:10.1f}×"
            f"{statistics.median(server.first) * 1e3:17.2f}"
        )


if __name__ == "__main__":
    main()
