"""Async models that try the loop's patience."""

import asyncio
import logging
import multiprocessing
import os
import sys
import time

from cog import BaseRunner, current_scope

logging.basicConfig(level=logging.INFO, format="%(message)s")
early = sys.stdout


class Unprintable(Exception):
    def __str__(self) -> str:
        raise SystemExit(3)


async def leave(error: type[BaseException]) -> None:
    raise error(3)


def say(text: str) -> None:
    print(text)


class Runner(BaseRunner):
    async def setup(self) -> None:
        if os.fork() == 0:
            return  # its interpreter must not take the parent's loop down
        os.wait()
        self.background = asyncio.get_running_loop().create_task(asyncio.sleep(1000))
        self.inside = 0

    async def run(self, what: str = "nothing", name: str = "") -> object:
        return await getattr(self, what)(name)

    async def nothing(self, name: str) -> str:
        return name

    async def huge_metric(self, name: str) -> None:
        current_scope().record_metric("count", 10**200000)

    async def unprintable(self, name: str) -> None:
        raise Unprintable

    async def exit_in_task(self, name: str) -> str:
        await asyncio.wait([asyncio.create_task(leave(SystemExit))])
        return "goes on"

    async def interrupt_in_task(self, name: str) -> str:
        await asyncio.wait([asyncio.create_task(leave(KeyboardInterrupt))])
        return "goes on"

    async def exit_in_callback(self, name: str) -> str:
        asyncio.get_running_loop().call_soon(sys.exit, 3)
        await asyncio.sleep(0.01)
        return "goes on"

    async def stop_loop(self, name: str) -> str:
        asyncio.get_running_loop().stop()
        await asyncio.sleep(0.01)
        return "goes on"

    async def cancel_all(self, name: str) -> str:
        for task in asyncio.all_tasks() - {asyncio.current_task()}:
            task.cancel()
        await asyncio.sleep(0.01)
        return "goes on"

    async def exit_in_child(self, name: str) -> int:
        pid = os.fork()
        if pid == 0:
            sys.exit(5)
        return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])

    async def raise_in_child(self, name: str) -> int:
        pid = os.fork()
        if pid == 0:
            raise ValueError("in the child")
        return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])

    async def print_in_child(self, name: str) -> int:
        child = multiprocessing.get_context("fork").Process(target=say, args=("from the child",))
        child.start()
        child.join()
        return child.exitcode

    async def log(self, name: str) -> None:
        """Through what was there before the first prediction, two at a time."""
        self.inside += 1
        while self.inside < 2:
            await asyncio.sleep(0.001)
        logging.info("logged by %s", name)
        print("printed by", name, file=early)

    async def block_when_woken(self, name: str) -> None:
        """Keeps the loop until there is a file, from the moment on that another prediction ends."""
        self.woken = asyncio.get_running_loop().create_future()
        open("waits", "w").close()
        await self.woken
        while not os.path.exists("enough"):
            time.sleep(0.001)

    async def wake(self, name: str) -> str:
        self.woken.set_result(None)
        return name

    async def no_output(self, name: str) -> object:
        return object()

    async def late_code(self, name: str) -> object:
        """Is answered, and keeps the loop a moment later."""
        asyncio.get_running_loop().call_later(0.1, time.sleep, 1000)
        return name

    async def memory(self, name: str) -> int:
        import _px

        return _px.memory()[0]
