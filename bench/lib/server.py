"""A server under test: started, waited for, checked, measured from outside, ended."""

from __future__ import annotations

import contextlib
import http.client
import json
import os
import signal
import subprocess
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from lib import processes
from lib.options import Options
from lib.peers.base import ECHO, Peer, Setting
from lib.serving import BenchError, free_port

REFUSALS = (409, 429, 503)


class Server:
    """One process and its children."""

    def __init__(self, peer: Peer, options: Options, work: str, **wanted: Any) -> None:
        self.peer, self.options, self.work = peer, options, work
        self.port = free_port()
        self.scratch = tempfile.TemporaryDirectory()
        setting = Setting(options, work, self.port, folder=Path(self.scratch.name), **wanted)
        command = peer.command(setting)
        if options.server_cpus:
            command = ["taskset", "-c", options.server_cpus, *command]
        # Their temporary files go with the server: some leave theirs behind.
        own = {"TMPDIR": self.scratch.name, **peer.environment(setting)}
        folder, environment = peer.folder(setting), {**os.environ, **own}
        environment.pop("PYTHONDONTWRITEBYTECODE", None)  # run.sh's, for this program
        self.log = tempfile.TemporaryFile()  # noqa: SIM115 (it lives as long as the server)
        self.seen: set[int] = set()
        self.began = time.perf_counter()
        self.process = subprocess.Popen(
            command,
            cwd=folder,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=self.log,
            stderr=self.log,
            start_new_session=True,
        )

    def request(self, value: dict[str, Any]) -> bytes:
        """Return the body of a request."""
        return self.peer.request(value, self.work)

    def ask(self, value: dict[str, Any], timeout: float = 30) -> tuple[int, bytes]:
        """Send one request."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=timeout)
        with contextlib.closing(connection):
            headers = {"Content-Type": "application/json"}
            connection.request("POST", self.peer.route(self.work), self.request(value), headers)
            answer = connection.getresponse()
            return answer.status, answer.read()

    def ask_until_taken(self, value: dict[str, Any]) -> tuple[int, bytes]:
        """Send one request, and again if it is refused because there is no room."""
        for _ in range(400):
            status, body = self.ask(value)
            if status not in REFUSALS:
                return status, body
            time.sleep(0.05)
        raise BenchError(f"{self.peer.title} refuses again and again")

    def first_answer(self) -> float:
        """Wait for the first right answer; return the seconds since the start."""
        value, expected = example(self.work)
        deadline = time.monotonic() + self.peer.start_seconds
        while time.monotonic() < deadline and self.process.poll() is None:
            with contextlib.suppress(OSError, http.client.HTTPException):
                status, body = self.ask(value)
                if status == 200:
                    took = time.perf_counter() - self.began
                    self.expect(body, expected)
                    return took
            time.sleep(0.003)
        raise BenchError(f"{self.peer.title} did not come up:\n{self.said()}")

    def expect(self, body: bytes, expected: Any) -> None:
        """Compare an answer with what is right."""
        if self.work == "stream":
            right = body.count(b"token ") == expected
        else:
            right = self.peer.output(body) == expected if expected is not None else True
        if not right:
            raise BenchError(f"{self.peer.title}: a wrong answer: {body[:300]!r}")

    def check(self) -> None:
        """Check its answers: to a wrong input, and to different inputs at once."""
        for wrong in wrong_inputs(self.work):
            status, body = self.ask_until_taken(wrong)
            # MOSEC has sent the head of a stream when it looks at the input: the refusal is in the stream.
            if not 400 <= status < 500 and not (self.work == "stream" and b"error: 422" in body):
                raise BenchError(f"{self.peer.title} answers {wrong} with {status}: {body[:300]!r}")
        with ThreadPoolExecutor(16) as pool:
            cases = [different(self.work, n) for n in range(64)]
            for (_, expected), (status, body) in zip(
                cases, pool.map(lambda c: self.ask_until_taken(c[0]), cases), strict=True
            ):
                if status != 200:
                    raise BenchError(f"{self.peer.title} answers {status}: {body[:300]!r}")
                self.expect(body, expected)

    def marked(self, value: dict[str, Any], text: str) -> str:
        """Return how an output stands in this server's answers, for programs that look at bytes."""
        _, body = self.ask_until_taken(value)
        for marked in self.peer.marked(text):
            if marked.encode() in body:
                return marked
        raise BenchError(f"{self.peer.title}: no {text[:80]} in {body[:300]!r}")

    def pids(self) -> list[int]:
        """Return its processes."""
        found = processes.tree(self.process.pid)
        self.seen.update(found)
        return found

    def said(self) -> str:
        """Return the end of its output."""
        self.log.seek(0)
        return self.log.read()[-3000:].decode(errors="replace")

    def close(self) -> None:
        """End it, and kill its processes that are left ten seconds later."""
        self.pids()
        self.process.send_signal(signal.SIGTERM)
        deadline = time.monotonic() + 10
        while any(map(processes.alive, self.seen)) and time.monotonic() < deadline:
            self.process.poll()
            time.sleep(0.05)
        for pid in self.seen:
            if processes.alive(pid):
                with contextlib.suppress(OSError):
                    os.kill(pid, signal.SIGKILL)
        self.process.wait()
        with contextlib.suppress(OSError):
            self.scratch.cleanup()


def example(work: str) -> tuple[dict[str, Any], Any]:
    """Return an input of a work, and its output; None where that is checked elsewhere."""
    if work == "batch":
        return {"x": 21}, 42
    if work == "onnx-batch":
        return different(work, 0)
    if work == "stream":
        return {"n": 10}, 10
    if work == "onnx":
        return {"text": PICTURE}, None
    if work == "cancel":
        return {"how": "not at all"}, "not at all"
    return {"text": ECHO}, ECHO


def different(work: str, n: int) -> tuple[dict[str, Any], Any]:
    """Return inputs that differ, so that an answer to another's question is seen."""
    if work == "batch":
        return {"x": n}, 2 * n
    if work == "onnx-batch":
        from lib import network  # only where it is needed: it imports numpy and onnx

        picture, kind = network.example(n)
        return {"x": picture}, kind
    if work == "stream":
        return {"n": n}, n
    if work in ("echo", "await"):
        return {"text": f"text {n} — ✓"}, f"text {n} — ✓"
    return example(work)


def wrong_inputs(work: str) -> list[dict[str, Any]]:
    """Return inputs that every server must refuse."""
    return {
        "batch": [{"x": "no number"}],
        "onnx-batch": [{"x": "no list"}, {"x": ["no number"] * 784}],
        "stream": [{"n": "no number"}],
        "cancel": [],
    }.get(work, [{"text": 5}, {"other": "x"}])


def picture() -> str:
    """Return a picture for the network: grey stripes, in base64."""
    import base64

    return base64.b64encode(bytes((x * y) % 251 for y in range(48) for x in range(192))).decode()


PICTURE = picture()


def dumps(value: Any) -> str:
    """Return compact JSON."""
    return json.dumps(value, separators=(",", ":"))
