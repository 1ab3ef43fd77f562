"""Reads streams of OpenAI's chat API from Pinion and from FastAPI, in turn, and compares chunks a second."""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import signal
import socket
import statistics
import subprocess
import sys
import threading
import time
from pathlib import Path

BENCH = Path(__file__).resolve().parents[1]
CHUNK = b'data: {"'


def free_port() -> int:
    """Return a port that is free now."""
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


class BadStream(Exception):
    """An answer is not the stream that was asked for."""


class Server:
    """A server that is up, until the end of the with statement."""

    def __init__(self, name: str, command: list[str], port: int, folder: Path) -> None:
        self.name, self.port = name, port
        self.process = subprocess.Popen(
            command, cwd=folder, stdout=subprocess.DEVNULL, start_new_session=True
        )

    def __enter__(self):
        end = time.monotonic() + 60
        while self.process.poll() is None and time.monotonic() < end:
            with contextlib.suppress(BadStream, OSError):
                read(self, 10)
                return self
            time.sleep(0.05)
        self.__exit__()
        raise SystemExit(f"{self.name} did not start")

    def __exit__(self, *_: object) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGTERM)
        self.process.wait()


def read(server: Server, tokens: int) -> tuple[float, float]:
    """Read one stream, check that it has all chunks, and return the seconds to the first token and to the end."""
    body = json.dumps(
        {
            "model": "bench",
            "messages": [{"role": "user", "content": "go"}],
            "max_tokens": tokens,
            "stream": True,
        }
    ).encode()
    head = (
        "POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
        f"Connection: close\r\nContent-Length: {len(body)}\r\n\r\n"
    )
    buffer, parts, first = bytearray(1 << 20), [], 0.0
    with socket.create_connection(("127.0.0.1", server.port), timeout=60) as connection:
        began = time.perf_counter()
        connection.sendall(head.encode() + body)
        while size := connection.recv_into(buffer):
            parts.append(bytes(memoryview(buffer)[:size]))
            if not first and b"token" in parts[-1]:
                first = time.perf_counter() - began
        whole = time.perf_counter() - began
    head, _, text = b"".join(parts).partition(b"\r\n\r\n")
    if b" 200 " not in head.partition(b"\r\n")[0]:
        raise BadStream(f"{server.name} answers {head!r}")
    count = unchunked(text).count(CHUNK)
    if count != tokens + 2:  # the role, and the finish reason
        raise BadStream(f"{server.name} sent {count} chunks, not {tokens + 2}: {text[:300]!r}")
    return first, whole


def unchunked(text: bytes) -> bytes:
    """Return a body in the chunked transfer coding without it, for a part may end anywhere."""
    parts, at = [], 0
    while at < len(text):
        end = text.index(b"\r\n", at)
        size = int(text[at:end], 16)
        parts.append(text[end + 2 : end + 2 + size])
        at = end + 4 + size
    return b"".join(parts)


def sample(server: Server, streams: int, tokens: int) -> dict[str, float]:
    """Read streams at once."""
    found: list[tuple[float, float]] = []
    readers = [
        threading.Thread(target=lambda: found.append(read(server, tokens))) for _ in range(streams)
    ]
    for reader in readers:
        reader.start()
    for reader in readers:
        reader.join()
    if len(found) != streams:
        raise SystemExit(f"{server.name}: {len(found)} of {streams} streams ended well")
    # Each stream's time ends before its check, which would count otherwise.
    whole = max(end for _, end in found)
    return {"rate": streams * tokens / whole, "first": statistics.median(f for f, _ in found)}


def main() -> None:
    """Measure round by round, one server after the other."""
    parser = argparse.ArgumentParser(prog="bench/protocols-openai.sh")
    add = parser.add_argument
    add("--rounds", type=int, default=5, help="how often each is measured, in turn; default 5")
    add("--tokens", type=int, default=100_000, help="of each of Pinion's streams; default 100 000")
    add("--pinion", type=Path, default=BENCH.parent / "bin/pinion")
    add("--fastapi", default=sys.executable, help="the Python that has FastAPI")
    args = parser.parse_args()
    ports = free_port(), free_port()
    pinion = [
        *(
            str(args.pinion.resolve()),
            "serve",
            str(BENCH / "models/openai-stream"),
            "--model",
            "bench",
        ),
        *("-p", str(ports[0]), "--workers", "2", "--queue", "64", "--log-level", "error"),
    ]
    fastapi = [
        *(args.fastapi, "-m", "uvicorn", "openai_service:app", "--host", "127.0.0.1"),
        *("--port", str(ports[1]), "--no-access-log", "--log-level", "error"),
    ]
    with (
        Server("Pinion", pinion, ports[0], BENCH) as ours,
        Server("FastAPI", fastapi, ports[1], BENCH / "protocols") as theirs,
    ):
        print("streams  Pinion chunks/s  FastAPI chunks/s  ratio  first token, ms")
        for streams in (1, 2, 8):
            got: dict[str, list[dict[str, float]]] = {"Pinion": [], "FastAPI": []}
            for _ in range(args.rounds):
                for server, tokens in ((ours, args.tokens), (theirs, args.tokens // 20)):
                    got[server.name].append(sample(server, streams, tokens))
            rates = {n: statistics.median(s["rate"] for s in all) for n, all in got.items()}
            firsts = {
                n: 1000 * statistics.median(s["first"] for s in all) for n, all in got.items()
            }
            ratio = statistics.median(
                a["rate"] / b["rate"] for a, b in zip(got["Pinion"], got["FastAPI"], strict=True)
            )
            print(
                f"{streams:7}  {rates['Pinion']:15,.0f}  {rates['FastAPI']:16,.0f}  {ratio:5.1f}"
                f"  {firsts['Pinion']:.2f} / {firsts['FastAPI']:.2f}"
            )


if __name__ == "__main__":
    main()
