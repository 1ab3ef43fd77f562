"""Calls an echo tool by MCP, in turn at Pinion, FastMCP and LitServe, and Pinion's native route; then polls a gateway's task."""

from __future__ import annotations

import argparse
import http.client
import json
import statistics
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Any

from lib import wrk
from lib.options import BENCH
from lib.serving import PINION, BenchError, Server, free_port, pinion, serving

CALL = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "tools/call",
    "params": {"name": "echo", "arguments": {"text": "some text"}},
}
NATIVE = {"input": {"text": "some text"}}
ACCEPT = "application/json, text/event-stream"
REVISION = "2026-07-28"


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
    add("--polls", type=int, default=1000, help="of a task, at a gateway; default 1000")
    add("--venvs", type=Path, required=True, help="the folder of mcp-fastmcp and mcp-litserve")
    args = parser.parse_args()
    rates(args)
    with tempfile.TemporaryDirectory() as folder:
        polls(args, folder)


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
        doors = {
            "native": (ours, "/predictions", NATIVE),
            "MCP": (ours, "/mcp", CALL),
            "FastMCP": (fast, "/mcp", CALL),
            "LitServe": (lit, "/mcp/", CALL),
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


def polls(args: argparse.Namespace, folder: str) -> None:
    """Print how long a gateway takes to answer for a task of another server, asked 200 times a second."""
    nats = ("--nats", f"embed:{folder}", "--model", "echo", "--log-level", "error")
    port = free_port()
    with (
        pinion(
            "Pinion", BENCH / "models/sync", *nats, "--mcp-task-after", "0s", binary=args.pinion
        ),
        serving(
            "gateway",
            [
                args.pinion,
                "gateway",
                "--host",
                "127.0.0.1",
                "--port",
                port,
                *nats,
                "--mcp-task-after",
                "0s",
            ],
            port,
            lambda server: server.ask("/readyz"),
        ),
    ):
        connection = http.client.HTTPConnection("127.0.0.1", port)
        task = ask(connection, "tools/call", CALL["params"], "echo")["taskId"]
        took = []
        begin = time.monotonic()
        for poll in range(args.polls):
            time.sleep(max(0.0, begin + poll / 200 - time.monotonic()))
            asked = time.monotonic()
            ask(connection, "tasks/get", {"taskId": task}, task)
            took.append((time.monotonic() - asked) * 1e3)
    took.sort()
    p99 = took[int(len(took) * 0.99)]
    print(
        f"a gateway's answers to {args.polls} polls: median {took[len(took) // 2]:.2f} ms, p99 {p99:.2f} ms"
    )


def ask(connection: http.client.HTTPConnection, method: str, params: Any, name: str) -> Any:
    """Call a method as a client of tasks; return its result."""
    meta = {
        "io.modelcontextprotocol/protocolVersion": REVISION,
        "io.modelcontextprotocol/clientCapabilities": {
            "extensions": {"io.modelcontextprotocol/tasks": {}}
        },
    }
    message = {"jsonrpc": "2.0", "id": 1, "method": method, "params": {**params, "_meta": meta}}
    headers = {
        "Content-Type": "application/json",
        "Accept": ACCEPT,
        "MCP-Protocol-Version": REVISION,
        "Mcp-Method": method,
        "Mcp-Name": name,
    }
    connection.request("POST", "/mcp", json.dumps(message), headers)
    answer = json.loads(connection.getresponse().read())
    if "result" not in answer:
        raise BenchError(f"{method}: {answer}")
    return answer["result"]


if __name__ == "__main__":
    main()
