"""Threads, tasks and children that outlive the prediction which started them, and write once the file GO is there."""

import asyncio
import os
import subprocess
import sys
import threading
import time

from cog import BaseRunner


def linger() -> None:
    while not os.path.exists(os.environ["GO"]):
        time.sleep(0.01)
    print("of a thread, line by line", file=sys.stderr)
    print("of a thread, not flushed", end="")
    subprocess.run(["echo", "of a child"], check=True)


class Runner(BaseRunner):
    def run(self, start: bool = False) -> None:
        if start:
            threading.Thread(target=linger).start()


class Async(BaseRunner):
    async def run(self, start: bool = False) -> None:
        if start:
            self.task = asyncio.create_task(asyncio.to_thread(linger))
