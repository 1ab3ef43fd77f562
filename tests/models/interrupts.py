"""Code in which an exception would break something, or goes no further; each way runs until it is canceled."""

import asyncio
import ctypes
import os
import sys
import time
import weakref
from collections.abc import Coroutine

from cog import BaseRunner, CancelationException, batch

ONCE = """import sys, time
if hasattr(sys, "initialized"):
    raise RuntimeError("once can only be initialized once per process")
sys.initialized = True
print("begun")
while not __import__("os").path.exists("imported"):
    time.sleep(0.01)
"""


def import_once() -> None:
    with open("once.py", "w") as file:
        file.write(ONCE)
    sys.path.append(os.getcwd())
    import once  # noqa: F401

    time.sleep(1000)


async def wait() -> None:
    print("begun")
    try:
        await asyncio.sleep(1000)
    finally:
        print("clean")


async def block() -> None:
    print("begun")
    while True:
        time.sleep(0.01)


class Ways:
    def importing(self) -> None:
        import_once()

    def waiting(self) -> None:
        asyncio.run(wait())

    def blocking(self) -> None:
        async def main() -> None:
            blocked = asyncio.create_task(block())
            await asyncio.sleep(1000)
            await blocked

        asyncio.run(main())

    def gathering(self) -> None:
        """Compute in a task that cleans up, on which the loop's main task waits."""

        async def compute() -> None:
            try:
                await block()
            except asyncio.CancelledError:
                await asyncio.sleep(0.05)
                print("clean")
                raise

        async def main() -> None:
            await asyncio.gather(compute(), asyncio.sleep(1000))

        self.run(main())

    def loose(self) -> None:
        """Compute in a task on which no other waits."""

        async def main() -> None:
            task = asyncio.create_task(block())
            while True:
                await asyncio.sleep(0.5)
                if task.done():
                    print("late")

        self.run(main())

    def grouping(self) -> None:
        async def main() -> None:
            async with asyncio.TaskGroup() as tasks:
                tasks.create_task(block())
                tasks.create_task(asyncio.sleep(1000))

        self.run(main())

    def run(self, main: Coroutine[None, None, None]) -> None:
        try:
            asyncio.run(main)
        except CancelationException:
            print("caught")
            raise

    def ticking(self) -> None:
        async def main() -> None:
            loop = asyncio.get_running_loop()

            def tick() -> None:
                time.sleep(0.01)
                loop.call_soon(tick)

            tick()
            await wait()

        asyncio.run(main())

    def callback(self) -> None:
        async def main() -> None:
            asyncio.get_running_loop().call_soon(lambda: (print("begun"), time.sleep(1000)))
            await asyncio.sleep(1000)

        asyncio.run(main())

    def forever(self) -> None:
        loop = asyncio.new_event_loop()

        def tick() -> None:
            time.sleep(0.01)
            loop.call_soon(tick)

        loop.call_soon(print, "begun")
        loop.call_soon(tick)
        try:
            loop.run_forever()
        finally:
            loop.close()

    def native(self) -> None:
        compare = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p)(lambda a, b: time.sleep(0.001) or 0)
        numbers = (ctypes.c_int * 50)()
        print("begun")
        while True:
            ctypes.CDLL(None).qsort(numbers, 50, 4, compare)

    def weakly(self) -> None:
        class Empty:
            pass

        print("begun")
        while True:
            empty = Empty()
            reference = weakref.ref(empty, lambda _: time.sleep(0.05))  # noqa: F841
            del empty


    def looping(self) -> None:
        print("begun")
        for caught in range(4):
            while True:
                try:
                    time.sleep(0.01)
                except BaseException:
                    if caught == 3:
                        raise
                    break

    def saving(self) -> None:
        """Clean up after the handler, for longer than it takes to be canceled again."""
        print("begun")
        try:
            time.sleep(1000)
        except BaseException:
            print("caught")
        for _ in range(50):
            time.sleep(0.01)
        print("saved")


class Sync(BaseRunner):
    def run(self, how: str = "") -> str:
        if how:
            getattr(Ways(), how)()
        return "done"


class Async(BaseRunner):
    async def run(self, how: str = "") -> str:
        if how:
            getattr(Ways(), how)()
        return "done"


class Batch(BaseRunner):
    @batch(max_size=2)
    def run(self, how: list[str]) -> list[str]:
        for each in how:
            if each:
                getattr(Ways(), each)()
        return ["done"] * len(how)

