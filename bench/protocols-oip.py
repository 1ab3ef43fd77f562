"""Asks Pinion, MLServer, Triton and a bare handler by OIP, in turn, and compares answers a second."""

from __future__ import annotations

import argparse
import contextlib
import functools
import json
import os
import statistics
import subprocess
import tempfile
from pathlib import Path

from lib import wrk
from lib.options import BENCH, ROOT
from lib.serving import PINION, Server, free_port, pinion, serving

PATH = "/v2/models/bench/infer"
FOUR = {"inputs": [{"name": "x", "datatype": "FP32", "shape": [4], "data": [1, 2, 3, 4]}]}
ELEMENTS = 250_000  # a tensor of 1 MB


def answers(server: Server) -> object:
    """Ask once, or raise OSError."""
    return server.ask(PATH, FOUR)


def rate(server: Server, load: list[str], environment: dict[str, str]) -> float:
    """Run a load and return the answers a second."""
    values = wrk.faultless(server.name, wrk.figures(load, environment))
    return values["requests"] / values["us"] * 1e6


def grpcload(port: int, connections: int, seconds: int) -> list[str]:
    """Return the command that asks over gRPC."""
    return [
        *(str(ROOT / "bin/bench-grpcload"), "-address", f"127.0.0.1:{port}"),
        *("-connections", str(connections), "-for", f"{seconds}s"),
    ]


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
    add("--pinion", type=Path, default=PINION)
    add("--mlserver", required=True, help="MLServer's command")
    add(
        "--triton", required=True, help="a Python that has Triton; one that is not there: no Triton"
    )
    add("--python", required=True, help="the Python of Pinion's model, which has numpy")
    args = parser.parse_args()
    grpc, bare, peer, peer_grpc, metrics, third, third_grpc = (free_port() for _ in range(7))
    model = f"bench={BENCH / 'models/oip-array'}"
    flags = ["--grpc-port", grpc, "--python", args.python, "--queue", 128, "--log-level", "error"]
    settings = {
        "MLSERVER_HTTP_PORT": str(peer),
        "MLSERVER_GRPC_PORT": str(peer_grpc),
        "MLSERVER_METRICS_PORT": str(metrics),
        "MLSERVER_HOST": "127.0.0.1",
        "MLSERVER_DEBUG": "false",
    }
    mlserver = [args.mlserver, "start", BENCH / "protocols/mlserver"]
    triton = [args.triton, BENCH / "protocols/triton/serve.py", third, third_grpc]
    mirror = [ROOT / "bin/bench-bare", "-address", f"127.0.0.1:{bare}", "-mirror"]
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    run = functools.partial(serving, up=answers, poll_budget=120, **quiet)
    with (
        tempfile.TemporaryDirectory() as folder,
        pinion("Pinion", model, *flags, binary=args.pinion, up=answers, **quiet) as ours,
        run("MLServer", mlserver, peer, env={**os.environ, **settings}) as theirs,
        run("bare fasthttp", mirror, bare) as handler,
        contextlib.ExitStack() as stack,
    ):
        four, large = Path(folder) / "four", Path(folder) / "large"
        four.write_text(json.dumps(FOUR))
        body, head = binary_body()
        large.write_bytes(body)
        small = {"BODY": str(four), "REQUEST_PATH": PATH, "LEAST": "50"}
        big = {"BODY": str(large), "REQUEST_PATH": PATH, "LEAST": str(4 * ELEMENTS)}
        big["HEAD"] = str(head)

        def json_rate(s: Server) -> float:
            return rate(s, wrk.command(s.port, 64, args.seconds), small)

        def grpc_rate(s: Server) -> float:
            ports = {"Pinion": grpc, "MLServer": peer_grpc}
            return rate(s, grpcload(ports[s.name], 64, args.seconds), {})

        def binary_rate(s: Server) -> float:
            return rate(s, wrk.command(s.port, 8, args.seconds), big)

        rows = [
            ("JSON, 4 numbers, 64 connections", theirs, json_rate),
            ("gRPC, 4 numbers, 64 connections", theirs, grpc_rate),
            ("binary, 1 MB, 8 connections", handler, binary_rate),
        ]
        if Path(args.triton).exists():
            world = stack.enter_context(run("Triton", triton, third))
            rows += [(what, world, measure) for what, _, measure in (rows[0], rows[2])]
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
