"""Cleaning up at the end of the process: atexit, a context that stays open, a thread pool."""

import atexit
import concurrent.futures
import contextlib
import tempfile

from cog import BaseRunner

stack = contextlib.ExitStack()
atexit.register(stack.close)
pool = concurrent.futures.ThreadPoolExecutor(1)


class Runner(BaseRunner):
    def setup(self) -> None:
        self.folder = stack.enter_context(tempfile.TemporaryDirectory())
        stack.callback(print, "closed", flush=True)
        atexit.register(lambda: print("last prediction was", self.last, flush=True))

    def run(self, name: str) -> str:
        self.last = name
        return pool.submit(str.upper, name).result()
