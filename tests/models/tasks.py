"""Async models."""

import asyncio
import contextvars
import os
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any, AsyncIterator

from cog import BaseRunner, concurrent, current_scope

who: contextvars.ContextVar[str] = contextvars.ContextVar("who", default="nobody")


class Runner(BaseRunner):
    """How many run at once is for the command line to say."""

    async def setup(self) -> None:
        self.loop = asyncio.get_running_loop()
        self.inside = 0
        self.most = 0
        self.meeting: dict[str, asyncio.Event] = {}
        await asyncio.sleep(0)
        print("async setup")

    async def run(self, what: str = "nothing", name: str = "", n: int = 0) -> Any:
        who.set(name)
        self.inside += 1
        self.most = max(self.most, self.inside)
        try:
            return await getattr(self, what)(name, n)
        finally:
            self.inside -= 1

    async def nothing(self, name: str, n: int) -> str:
        return name

    async def same_loop(self, name: str, n: int) -> bool:
        return asyncio.get_running_loop() is self.loop

    async def meet(self, name: str, n: int) -> int:
        """Returns once n predictions are inside at the same time."""
        while self.most < n:
            await asyncio.sleep(0.001)
        return self.most

    async def wait(self, name: str, n: int) -> str:
        print(f"begun {name}")
        try:
            await asyncio.sleep(1000)
        except asyncio.CancelledError:
            print(f"canceled {name}")
            raise
        finally:
            print(f"finally {name}")
        return "not reached"

    async def busy(self, name: str, n: int) -> None:
        print(f"begun {name}")
        while True:
            pass

    async def block(self, name: str, n: int) -> None:
        print(f"begun {name}")
        time.sleep(1000)

    async def in_thread(self, name: str, n: int) -> None:
        print(f"begun {name}")
        await asyncio.get_running_loop().run_in_executor(None, threading.Event().wait, 0.05)
        await asyncio.Event().wait()

    async def process(self, name: str, n: int) -> None:
        child = await asyncio.create_subprocess_exec("sleep", "1000")
        print(f"begun {name}", flush=True)
        try:
            await child.wait()
        finally:
            child.kill()
            await child.wait()

    async def swallow(self, name: str, n: int) -> str:
        print(f"begun {name}")
        while True:
            try:
                await asyncio.sleep(1000)
            except asyncio.CancelledError:
                pass

    async def timeout(self, name: str, n: int) -> str:
        try:
            await asyncio.wait_for(asyncio.sleep(1000), 0.01)
        except asyncio.TimeoutError:
            return "timed out"
        return "not reached"

    async def fail(self, name: str, n: int) -> None:
        raise ValueError(name)

    async def exit(self, name: str, n: int) -> None:
        sys.exit(name)

    async def talk(self, name: str, n: int) -> str:
        """Prints from everywhere that belongs to this prediction, while others do so too."""
        while self.most < 2 and n > 1:
            await asyncio.sleep(0.001)
        for i in range(n):
            print(name, "run", i)
            await asyncio.sleep(0)

        async def task() -> None:
            print(name, "task")

        await asyncio.gather(task(), asyncio.create_task(task()))
        thread = threading.Thread(target=lambda: print(name, "thread"))
        thread.start()
        while thread.is_alive():
            await asyncio.sleep(0.001)
        thread.join()
        loop = asyncio.get_running_loop()
        with ThreadPoolExecutor(1) as pool:
            await loop.run_in_executor(pool, print, name, "executor")
        await asyncio.to_thread(print, name, "to_thread")
        print(name, "error", file=sys.stderr)
        print(name, "var", who.get(), await asyncio.to_thread(who.get))
        return who.get()

    async def raw(self, name: str, n: int) -> None:
        os.write(1, f"{name} raw\n".encode())

    async def leave(self, name: str, n: int) -> None:
        """Leaves a task and a thread behind, which write when the next prediction has begun."""

        async def late() -> None:
            await self.finished.wait()
            print(name, "late", "task")

        self.late = asyncio.create_task(late())
        finished = threading.Event()
        self.thread = threading.Thread(target=lambda: (finished.wait(), print(name, "late", "thread")))
        self.thread.start()
        self.finished, self.thread_finished = asyncio.Event(), finished

    async def see(self, name: str, n: int) -> None:
        """Lets what leave left behind write, and native code beside it."""
        print(name, "begins")
        self.finished.set()
        await self.late
        self.thread_finished.set()
        await asyncio.to_thread(self.thread.join)
        os.write(1, f"{name} raw\n".encode())
        print(name, "ends")

    async def metric(self, name: str, n: int) -> dict:
        for _ in range(3):
            current_scope().record_metric("mine", n, "incr")
            await asyncio.sleep(0)
        return current_scope().context

    async def fork(self, name: str, n: int) -> str:
        pid = os.fork()
        if pid == 0:
            return "child"
        _, status = os.waitpid(pid, 0)
        return f"parent {os.waitstatus_to_exitcode(status)}"

    async def sub(self, name: str, n: int) -> str:
        return subprocess.run([sys.executable, "-c", "print('sub')"], capture_output=True, text=True).stdout

    async def die(self, name: str, n: int) -> None:
        while self.most < n:
            await asyncio.sleep(0.001)
        os.abort()


class Four(BaseRunner):
    @concurrent(max=4)
    async def run(self, n: int) -> int:
        Four.inside = getattr(Four, "inside", 0) + 1
        while Four.inside < n:
            await asyncio.sleep(0.001)
        return n


class Stream(BaseRunner):
    async def run(self, n: int = 3) -> AsyncIterator[str]:
        try:
            for i in range(n):
                yield str(i)
                await asyncio.sleep(0)
            if n == 0:
                print("begun")
                await asyncio.sleep(1000)
        finally:
            print("closed")


class SetupOnly(BaseRunner):
    """A synchronous predict function beside an async setup."""

    async def setup(self) -> None:
        await asyncio.sleep(0)
        self.value = "set up"

    def run(self) -> str:
        return self.value


async def plain(n: int = 1) -> int:
    await asyncio.sleep(0)
    return n + 1


async def echo(text: str = "") -> str:
    return text
