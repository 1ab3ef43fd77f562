"""Calls an echo tool by MCP, in turn at Pinion, FastMCP and LitServe, and Pinion's native route."""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import tempfile
from pathlib import Path

from lib import wrk
from lib.options import BENCH
from lib.serving import PINION, Server, free_port, pinion, serving

CALL = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "tools/call",
    "params": {"name": "echo", "arguments": {"text": "some text"}},
}
NATIVE = {"input": {"text": "some text"}}
ACCEPT = "application/json, text/event-stream"


def answers(server: Server) -> bool:
    """Tell whether a server takes connections; any status will do."""
    run = subprocess.run(
        ["curl", "-s", "-o", "/dev/null", f"http://127.0.0.1:{server.port}/"], check=False
    )
    return run.returncode == 0


def main() -> None:
    """Measure round by round, one after the other."""
    parser = argparse.ArgumentParser(prog="bench/mcp.sh")
    add = parser.add_argument
    add("--rounds", type=int, default=5, help="how often each is measured, in turn; default 5")
    add("--seconds", type=float, default=5, help="of each measurement; default 5")
    add("--connections", type=int, default=64, help="at once; default 64")
    add("--pinion", type=Path, default=PINION)
    add("--venvs", type=Path, required=True, help="the folder of mcp-fastmcp and mcp-litserve")
    args = parser.parse_args()
    rates(args)


def rates(args: argparse.Namespace) -> None:
    """Print the calls a second of each."""
    services = BENCH / "protocols/mcp"
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}

    def peer(name: str, file: str):  # type: ignore[no-untyped-def]
        port, python = free_port(), args.venvs / f"mcp-{name.lower()}/bin/python"
        return serving(name, [python, services / file, port], port, answers, **quiet)

    flags = ["--model", "echo", "--queue", args.connections, "--log-level", "error"]
    with (
        tempfile.TemporaryDirectory() as folder,
        pinion("Pinion", BENCH / "models/sync", *flags, binary=args.pinion) as ours,
        peer("FastMCP", "fast.py") as fast,
        peer("LitServe", "lit.py") as lit,
    ):
        found: dict[str, list[float]] = {}
        # LitServe names the arguments by the parameter of its function.
        wrapped = {
            **CALL,
            "params": {"name": "echo", "arguments": {"request": {"text": "some text"}}},
        }
        doors = {
            "native": (ours, "/predictions", NATIVE),
            "MCP": (ours, "/mcp", CALL),
            "FastMCP": (fast, "/mcp", CALL),
            "LitServe": (lit, "/mcp/", wrapped),
        }
        for name, (_, _, body) in doors.items():
            Path(folder, name).write_text(json.dumps(body))
        for _ in range(args.rounds):
            for name, (server, path, _) in doors.items():
                got = wrk.figures(
                    wrk.command(server.port, args.connections, args.seconds),
                    {
                        "BODY": str(Path(folder, name)),
                        "REQUEST_PATH": path,
                        "EXPECT": "some text",
                        "ACCEPT": ACCEPT if name != "native" else "application/json",
                    },
                )
                wrk.faultless(name, got)
                found.setdefault(name, []).append(got["requests"] / got["us"] * 1e6)
        print("door       calls/s  MCP is, times")
        for name, list_ in found.items():
            ratio = statistics.median(a / b for a, b in zip(found["MCP"], list_, strict=True))
            print(f"{name:9}  {statistics.median(list_):7,.0f}  {ratio:.2f}")


if __name__ == "__main__":
    main()
