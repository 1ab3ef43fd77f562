"""The same for batches, each call of the model a line of the ledger as well.

"batch NUMBER PID NANOSECONDS KEY TOKEN..." is a call, "raised NUMBER PID" and "ended NUMBER PID" say how it came to its
end. With preprocess and postprocess nothing else is written by them: what they do to the process is "harm", as usual.
"""

from __future__ import annotations

import asyncio
import itertools
import os
import random
import time
from collections.abc import Iterator
from contextlib import contextmanager

import chaos
from chaos import Ledger, answer
from cog import BaseRunner, Input, Path, batch

MOST = 8
chaos.LINE = 256  # bytes, still a part of any page: as many tokens as a batch has


class Log(Ledger):
    """The ledger of calls."""

    def __init__(self) -> None:
        super().__init__()
        self.numbers = itertools.count()

    @contextmanager
    def call(self, key: int, tokens: list[str]) -> Iterator[None]:
        """Write that the model is called, and how the call came to its end, unless it was interrupted."""
        number = next(self.numbers)
        self.write(f"batch {number} {os.getpid()} {time.monotonic_ns()} {key} {' '.join(tokens)}")
        try:
            yield
        except Exception:
            self.write(f"raised {number} {os.getpid()}")
            raise
        self.write(f"ended {number} {os.getpid()}")

    def enter(self, asked: list[tuple[str, str, int, bool, Path | None]]) -> list[Exception | None]:
        """Do to all what they ask for; return what is to become of each."""
        for token, _, _, says, file in asked:
            if says:
                print(token)
            if file is not None and file.read_text() != token:
                self.write(f"foreign {token} {os.getpid()}")
        for token, do, salt, _, _ in asked:
            self.suffer(token, do, salt, "raise")
        return [ValueError(token) if do == "refuse" else None for token, do, _, _, _ in asked]

    def suffer(self, token: str, do: str, salt: int, word: str) -> None:
        if do == word:
            raise ValueError(token)
        if do and do not in ("raise", "refuse", "before", "after"):
            self.write(f"harm {token} {os.getpid()} {time.monotonic_ns()} {do}")
            getattr(chaos, do)(random.Random(salt))


class Batched(BaseRunner):
    def setup(self) -> None:
        self.log = Log()

    @batch(max_size=MOST)
    def run(
        self,
        token: list[str],
        do: list[str],
        salt: list[int],
        wait: list[float],
        pad: list[int],
        says: list[bool],
        file: list[Path | None] = Input(default=None),
        key: int = 0,
    ) -> list[str]:
        with self.log.call(key, token):
            bad = self.log.enter(list(zip(token, do, salt, says, file)))
            time.sleep(max(wait))
        return [b or answer(t, p) for b, t, p in zip(bad, token, pad)]


class BatchedTasks(BaseRunner):
    def setup(self) -> None:
        self.log = Log()

    @batch(max_size=MOST)
    async def run(
        self,
        token: list[str],
        do: list[str],
        salt: list[int],
        wait: list[float],
        pad: list[int],
        says: list[bool],
        file: list[Path | None] = Input(default=None),
        key: int = 0,
    ) -> list[str]:
        with self.log.call(key, token):
            bad = self.log.enter(list(zip(token, do, salt, says, file)))
            await asyncio.sleep(max(wait))
        return [b or answer(t, p) for b, t, p in zip(bad, token, pad)]


def in_run(item: dict) -> str:
    """What it does in its batch."""
    return item["do"] if item["at"] == 1 or item["do"] in ("raise", "refuse") else ""


class Around(BaseRunner):
    """What harms the process does so in preprocess, in run or in postprocess, as the salt has it."""

    def setup(self) -> None:
        self.log = Log()

    def preprocess(
        self,
        token: str,
        do: str,
        salt: int,
        wait: float,
        pad: int,
        says: bool,
        file: Path | None = None,
        key: int = 0,
    ) -> dict:
        item = {"token": token, "do": do, "salt": salt, "at": salt % 3}
        item |= {"wait": wait, "pad": pad, "says": says, "file": file}
        if item["at"] == 0 or do == "before":
            self.log.suffer(token, do, salt, "before")
            item["do"] = do if do in ("raise", "refuse", "after") else ""
        return item

    @batch(max_size=MOST)
    def run(self, items: list[dict]) -> list[dict]:
        with self.log.call(0, [i["token"] for i in items]):
            bad = self.log.enter([(i["token"], in_run(i), i["salt"], i["says"], i["file"]) for i in items])
            time.sleep(max(i["wait"] for i in items))
        return [b or i for b, i in zip(bad, items)]

    def postprocess(self, output: dict) -> str:
        if output["at"] == 2 or output["do"] == "after":
            self.log.suffer(output["token"], output["do"], output["salt"], "after")
        return answer(output["token"], output["pad"])
