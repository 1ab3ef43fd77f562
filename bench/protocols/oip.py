"""Asks Pinion, MLServer, Triton and a bare handler by OIP, in turn, and compares answers a second."""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import signal
import socket
import statistics
import subprocess
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

BENCH = Path(__file__).resolve().parents[1]
BINARIES = BENCH.parent / "bin"
FOUR = {"inputs": [{"name": "x", "datatype": "FP32", "shape": [4], "data": [1, 2, 3, 4]}]}
ELEMENTS = 250_000  # a tensor of 1 MB


def free_port() -> int:
    """Return a port that is free now."""
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return int(s.getsockname()[1])


@dataclass
class Server:
    """Where a server is."""

    name: str
    port: int
    grpc: int


def ask(server: Server) -> None:
    """Ask once, or raise OSError."""
    url = f"http://127.0.0.1:{server.port}/v2/models/bench/infer"
    request = urllib.request.Request(url, json.dumps(FOUR).encode())
    request.add_header("Content-Type", "application/json")
    urllib.request.urlopen(request, timeout=10).read()


@contextlib.contextmanager
def serving(
    name: str, command: list[str], port: int, grpc: int, env: dict[str, str]
) -> Iterator[Server]:
    """Run a server, from its first answer on."""
    process = subprocess.Popen(
        command,
        env={**os.environ, **env},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    server, end = Server(name, port, grpc), time.monotonic() + 120
    try:
        while True:
            try:
                ask(server)
                break
            except OSError:
                if process.poll() is not None or time.monotonic() > end:
                    raise SystemExit(f"{name} did not start") from None
                time.sleep(0.1)
        yield server
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGTERM)
        process.wait()


def rate(name: str, command: list[str], env: dict[str, str]) -> float:
    """Run a load and return the answers a second."""
    run = subprocess.run(
        command, env={**os.environ, **env}, capture_output=True, text=True, check=True
    )
    for line in run.stdout.splitlines():
        if line.startswith("RESULT "):
            answers, micros, wrong = map(int, line.split()[1:])
            if wrong or not answers:
                raise SystemExit(f"{name}: {wrong} of {answers} answers were wrong")
            return answers / micros * 1e6
    raise SystemExit(f"{name}: no result: {run.stdout}{run.stderr}")


def wrk(server: Server, connections: int, seconds: int, env: dict[str, str]) -> float:
    """Ask over HTTP."""
    command = [
        *("wrk", "-t1", f"-c{connections}", f"-d{seconds}s", "--timeout", "30s"),
        *("-s", str(BENCH / "protocols/oip.lua"), f"http://127.0.0.1:{server.port}"),
    ]
    return rate(server.name, command, env)


def grpcload(server: Server, connections: int, seconds: int) -> float:
    """Ask over gRPC."""
    command = [
        *(str(BINARIES / "bench-grpcload"), "-address", f"127.0.0.1:{server.grpc}"),
        *("-connections", str(connections), "-for", f"{seconds}s"),
    ]
    return rate(server.name, command, {})


def binary_body() -> tuple[bytes, int]:
    """Return a request with a binary tensor, and the length of its JSON."""
    size = 4 * ELEMENTS
    tensor = {
        "name": "x",
        "datatype": "FP32",
        "shape": [ELEMENTS],
        "parameters": {"binary_data_size": size},
    }
    head = json.dumps({"inputs": [tensor], "parameters": {"binary_data_output": True}}).encode()
    return head + b"\x00\x00\x80\x3f" * ELEMENTS, len(head)


def main() -> None:
    """Measure round by round, one server after the other."""
    parser = argparse.ArgumentParser(prog="bench/protocols-oip.sh")
    add = parser.add_argument
    add("--rounds", type=int, default=5, help="how often each is measured, in turn; default 5")
    add("--seconds", type=int, default=3, help="how long each time; default 3")
    add("--pinion", type=Path, default=BINARIES / "pinion")
    add("--mlserver", required=True, help="MLServer's command")
    add(
        "--triton", required=True, help="a Python that has Triton; one that is not there: no Triton"
    )
    add("--python", required=True, help="the Python of Pinion's model, which has numpy")
    args = parser.parse_args()
    http, grpc, bare, peer, peer_grpc, metrics, third, third_grpc = (free_port() for _ in range(8))
    pinion = [
        *(
            str(args.pinion.resolve()),
            "serve",
            f"bench={BENCH / 'models/oip-array'}",
            "-p",
            str(http),
        ),
        *(
            "--grpc-port",
            str(grpc),
            "--python",
            args.python,
            "--queue",
            "128",
            "--log-level",
            "error",
        ),
    ]
    settings = {
        "MLSERVER_HTTP_PORT": str(peer),
        "MLSERVER_GRPC_PORT": str(peer_grpc),
        "MLSERVER_METRICS_PORT": str(metrics),
        "MLSERVER_HOST": "127.0.0.1",
        "MLSERVER_DEBUG": "false",
    }
    mlserver = [args.mlserver, "start", str(BENCH / "protocols/mlserver")]
    triton = [args.triton, str(BENCH / "protocols/triton/serve.py"), str(third), str(third_grpc)]
    mirror = [str(BINARIES / "bench-bare"), "-address", f"127.0.0.1:{bare}", "-mirror"]
    with (
        tempfile.TemporaryDirectory() as folder,
        serving("Pinion", pinion, http, grpc, {}) as ours,
        serving("MLServer", mlserver, peer, peer_grpc, settings) as theirs,
        serving("bare fasthttp", mirror, bare, 0, {}) as handler,
        contextlib.ExitStack() as stack,
    ):
        four, large = Path(folder) / "four", Path(folder) / "large"
        four.write_text(json.dumps(FOUR))
        body, head = binary_body()
        large.write_bytes(body)
        small = {"BODY": str(four), "LEAST": "50"}
        big = {"BODY": str(large), "HEAD": str(head), "LEAST": str(4 * ELEMENTS)}
        rows = [
            ("JSON, 4 numbers, 64 connections", theirs, lambda s: wrk(s, 64, args.seconds, small)),
            ("gRPC, 4 numbers, 64 connections", theirs, lambda s: grpcload(s, 64, args.seconds)),
            ("binary, 1 MB, 8 connections", handler, lambda s: wrk(s, 8, args.seconds, big)),
        ]
        if Path(args.triton).exists():
            world = stack.enter_context(serving("Triton", triton, third, third_grpc, {}))
            rows += [
                ("JSON, 4 numbers, 64 connections", world, rows[0][2]),
                ("binary, 1 MB, 8 connections", world, rows[2][2]),
            ]
        else:
            print("Triton is left out: its package could not be installed", flush=True)
        print(f"{'':32}  {'Pinion':>9}  {'peer':>9}  ratio")
        for name, other, measure in rows:
            pairs = [(measure(ours), measure(other)) for _ in range(args.rounds)]
            mine, peers = (statistics.median(side) for side in zip(*pairs, strict=True))
            ratio = statistics.median(a / b for a, b in pairs)
            print(f"{name:32}  {mine:9,.0f}  {peers:9,.0f}  {ratio:5.2f}  {other.name}", flush=True)


if __name__ == "__main__":
    main()
