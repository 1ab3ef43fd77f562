"""An async model that takes one prediction at a time, with a plain thread and an executor."""

import asyncio
import threading
from concurrent.futures import ThreadPoolExecutor

from cog import BaseRunner, current_scope


class Runner(BaseRunner):
    def setup(self) -> None:
        self.pool = ThreadPoolExecutor(1)

    async def run(self, n: int) -> str:
        thread = threading.Thread(target=lambda: current_scope().record_metric("thread", n))
        thread.start()
        await asyncio.to_thread(thread.join)
        loop = asyncio.get_running_loop()
        await loop.run_in_executor(self.pool, lambda: current_scope().record_metric("pool", n))
        return "done"
