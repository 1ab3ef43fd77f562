"""Reads streams of OpenAI's chat API from Pinion and from FastAPI, in turn, and compares chunks a second."""

from __future__ import annotations

import argparse
import json
import socket
import statistics
import subprocess
import sys
import threading
import time
from pathlib import Path

from lib.options import BENCH
from lib.serving import PINION, Server, free_port, pinion, serving

CHUNK = b'data: {"'


class BadStream(OSError):
    """An answer is not the stream that was asked for."""


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
    add("--pinion", type=Path, default=PINION)
    add("--fastapi", default=sys.executable, help="the Python that has FastAPI")
    args = parser.parse_args()
    flags = ["--model", "bench", "--workers", 2, "--queue", 64, "--log-level", "error"]
    port = free_port()
    fastapi = [
        *(args.fastapi, "-m", "uvicorn", "openai_service:app", "--host", "127.0.0.1"),
        *("--port", port, "--no-access-log", "--log-level", "error"),
    ]
    run = {"up": lambda server: read(server, 10), "stdout": subprocess.DEVNULL}
    with (
        pinion("Pinion", BENCH / "models/openai-stream", *flags, binary=args.pinion, **run) as ours,
        serving("FastAPI", fastapi, port, cwd=BENCH / "protocols", **run) as theirs,
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
