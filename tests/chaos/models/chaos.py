"""Writes down what it begins and what it has done, and harms its own process where it is asked to.

ledger.txt has a line for each: "begun TOKEN PID NANOSECONDS", "harm TOKEN PID NANOSECONDS WHAT", "done TOKEN PID". Each is written
by one call before anything else happens, so what stands there outlives the process. All lines have the
same length, for a write that goes beyond a page of the file is cut off there where its process is killed.
"""

from __future__ import annotations

import asyncio
import ctypes
import os
import random
import signal
import socket
import stat
import struct
import time
from collections.abc import AsyncIterator, Iterator

from cog import BaseRunner, Path, streaming

LINE = 64  # bytes, a part of any page


class Ledger:
    """The ledger, and what a prediction does between its lines."""

    def __init__(self) -> None:
        self.file = os.open("ledger.txt", os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)

    def write(self, line: str) -> None:
        """Write a line; a closed file must not make it another failure than the one that is to be seen."""
        os.write(self.file, line.ljust(LINE - 1).encode() + b"\n")

    def begin(self, token: str, says: bool, do: str, salt: int, file: Path | None) -> None:
        self.write(f"begun {token} {os.getpid()} {time.monotonic_ns()}")
        if says:
            print(token)
        if file is not None and file.read_text() != token:
            self.write(f"foreign {token} {os.getpid()}")  # another prediction's file
        if do == "raise":
            raise ValueError(token)
        if do:
            self.write(f"harm {token} {os.getpid()} {time.monotonic_ns()} {do}")
            globals()[do](random.Random(salt))

    def end(self, token: str) -> None:
        self.write(f"done {token} {os.getpid()}")


def answer(token: str, pad: int) -> str:
    return f"{token} {os.getpid()} {'x' * pad}"


def segv(_: random.Random) -> None:
    ctypes.string_at(0)


def leave(_: random.Random) -> None:
    os._exit(3)


def abort(_: random.Random) -> None:
    os.abort()


def kill(_: random.Random) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def exhaust(_: random.Random) -> None:
    """Take all the memory there is, as the first that the kernel is to end for it."""
    with open("/proc/self/oom_score_adj", "w") as f:
        f.write("1000")
    hoard = []
    while True:
        hoard.append(b"\x01" * (16 << 20))


def block(_: random.Random) -> None:
    """Keep the event loop from everything else."""
    while True:
        time.sleep(1)


def close_all(_: random.Random) -> None:
    os.closerange(3, 4096)
    while True:
        signal.pause()


def sockets() -> list[int]:
    """Every socket of this process: the control channel, those of the slots, and asyncio's own."""
    found = []
    for name in os.listdir("/proc/self/fd"):
        try:
            if stat.S_ISSOCK(os.fstat(int(name)).st_mode):
                found.append(int(name))
        except OSError:  # the folder's own, which listdir has closed
            pass
    return found


def close_sockets(_: random.Random) -> None:
    for number in sockets():
        os.close(number)


def shut_sockets(_: random.Random) -> None:
    spoil(lambda s: s.shutdown(socket.SHUT_WR))


def spoil(how) -> None:
    for number in sockets():
        with socket.socket(fileno=os.dup(number)) as s:
            try:
                how(s)
            except OSError:
                pass


def rubbish(r: random.Random) -> None:
    """Bytes that are nothing."""
    data = r.randbytes(r.randint(1, 4096))
    spoil(lambda s: s.send(data, socket.MSG_DONTWAIT))


def forged(r: random.Random) -> None:
    """Frames in good form that mean nothing: of any kind, for predictions that do not exist."""
    data = b"".join(
        struct.pack("<IBBHQQ", 2, r.randint(0, 255), 0, 0, r.getrandbits(64), 0) + b"{}"
        for _ in range(r.randint(1, 20))
    )
    spoil(lambda s: s.send(data, socket.MSG_DONTWAIT))


def oversized(r: random.Random) -> None:
    """A frame that says it is longer than any may be."""
    data = struct.pack("<IBBHQQ", r.randint(7 << 20, (1 << 32) - 1), 16, 0, 0, 64, 0)
    spoil(lambda s: s.send(data, socket.MSG_DONTWAIT))


def cut_off(r: random.Random) -> None:
    """A frame whose body never comes, so that all later ones are taken for it."""
    data = struct.pack("<IBBHQQ", 6 << 20, 16, 0, 0, 64, 0)
    spoil(lambda s: s.send(data, socket.MSG_DONTWAIT))


class Plain(BaseRunner):
    def setup(self) -> None:
        self.ledger = Ledger()

    def run(
        self,
        token: str = "",
        do: str = "",
        salt: int = 0,
        wait: float = 0.0,
        pad: int = 0,
        says: bool = False,
        items: int = 0,
        file: Path | None = None,
    ) -> str:
        self.ledger.begin(token, says, do, salt, file)
        if wait:
            time.sleep(wait)
        self.ledger.end(token)
        return answer(token, pad)


class Stream(BaseRunner):
    def setup(self) -> None:
        self.ledger = Ledger()

    @streaming
    def run(
        self,
        token: str = "",
        do: str = "",
        salt: int = 0,
        wait: float = 0.0,
        pad: int = 0,
        says: bool = False,
        items: int = 0,
        file: Path | None = None,
    ) -> Iterator[str]:
        self.ledger.begin(token, says, do, salt, file)
        for _ in range(items):
            yield answer(token, 0)
            if wait:
                time.sleep(wait / items)
        self.ledger.end(token)
        yield answer(token, pad)


class Tasks(BaseRunner):
    def setup(self) -> None:
        self.ledger = Ledger()

    async def run(
        self,
        token: str = "",
        do: str = "",
        salt: int = 0,
        wait: float = 0.0,
        pad: int = 0,
        says: bool = False,
        items: int = 0,
        file: Path | None = None,
    ) -> str:
        self.ledger.begin(token, says, do, salt, file)
        if wait:
            await asyncio.sleep(wait)
        self.ledger.end(token)
        return answer(token, pad)


class TaskStream(BaseRunner):
    def setup(self) -> None:
        self.ledger = Ledger()

    @streaming
    async def run(
        self,
        token: str = "",
        do: str = "",
        salt: int = 0,
        wait: float = 0.0,
        pad: int = 0,
        says: bool = False,
        items: int = 0,
        file: Path | None = None,
    ) -> AsyncIterator[str]:
        self.ledger.begin(token, says, do, salt, file)
        for _ in range(items):
            yield answer(token, 0)
            if wait:
                await asyncio.sleep(wait / items)
        self.ledger.end(token)
        yield answer(token, pad)
