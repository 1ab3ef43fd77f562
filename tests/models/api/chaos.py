"""A bit of everything that a prediction can do, for the test that lets everything go wrong."""

import asyncio
import os
import time
from typing import Any, AsyncIterator, Iterator, Optional

from cog import BaseRunner, Path, streaming


class Runner(BaseRunner):
    @streaming
    def run(
        self, token: str = "", n: int = 0, pause: float = 0.0, fail: bool = False, make: bool = False, file: Optional[Path] = None
    ) -> Iterator[Any]:
        print("begins", token)
        for i in range(n):
            yield i
            time.sleep(pause)
        if file is not None:
            yield file.read_text()
        if make:
            made = Path(f"{token}.txt")
            made.write_text(token)
            try:
                yield made
            finally:
                os.remove(made)
        if fail:
            raise ValueError(token)


class Async(BaseRunner):
    """The same, several at once."""

    @streaming
    async def run(
        self, token: str = "", n: int = 0, pause: float = 0.0, fail: bool = False, make: bool = False, file: Optional[Path] = None
    ) -> AsyncIterator[Any]:
        print("begins", token)
        for i in range(n):
            yield i
            await asyncio.sleep(pause)
        if file is not None:
            yield file.read_text()
        if make:
            made = Path(f"{token}.txt")
            made.write_text(token)
            try:
                yield made
            finally:
                os.remove(made)
        if fail:
            raise ValueError(token)
