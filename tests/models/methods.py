"""Batched methods. Each call of one is a line of calls.txt; the item "gate" waits for the file of that name."""

import asyncio
import concurrent.futures
import itertools
import os
import threading
import time

import cog


def note(line: str) -> None:
    with open("calls.txt", "a") as file:
        file.write(line + "\n")


MEET = threading.Barrier(2)

# Predictions that wait for a file before they call the method.
IDLE = {"idle": "gate", "late": "late"}


class Odd:
    """A key that cannot be compared."""

    def __eq__(self, other: object) -> bool:
        raise ValueError("odd")


class Turning:
    """A key whose hash changes."""

    hashes = itertools.count()

    def __hash__(self) -> int:
        return next(self.hashes)


class Classless:
    """A result that fails whoever asks for its class."""

    @property
    def __class__(self) -> type:
        raise ValueError("classless")


class ClasslessError(Exception):
    __class__ = Classless.__class__


KEYS = {"odd": [Odd()], "odder": [Odd()], "turning": Turning()}
ODD_RESULTS = {"bad": ValueError("no bad"), "classless": Classless(), "error": ClasslessError("odd error")}
COSTS = {"huge": 10**400, "infinite": float("inf"), "nan": float("nan"), "negative": -1}


class Item:
    def __init__(self, text: str) -> None:
        self.text = text
        self.tokens = COSTS.get(text, len(text))


class Base(cog.BaseRunner):
    @cog.batch(max_size=4, max_wait_ms=60_000)
    def step(self, items: list[Item], key: int = 0) -> list[str]:
        texts = [item.text for item in items]
        note(f"step {key} {' '.join(sorted(texts))}")
        print("step of", *sorted(texts))
        while "gate" in texts and not os.path.exists("gate"):
            time.sleep(0.001)
        if "raises" in texts:
            raise RuntimeError("raised in step")
        cog.current_scope().record_metric("steps", 1, "incr")
        results = [ODD_RESULTS.get(text, text.upper()) for text in texts]
        return results[1:] if "short" in texts else results

    @cog.batch(max_size=8, max_wait_ms=60_000, isolate=True)
    async def halves(self, items: list[Item]) -> list[str]:
        texts = [item.text for item in items]
        note(f"halves {' '.join(sorted(texts))}")
        while "gate" in texts and not os.path.exists("gate"):
            await asyncio.sleep(0.001)
        if "raises" in texts:
            raise RuntimeError("raised in halves")
        return [item.text.upper() for item in items]

    @cog.batch(max_size=1, concurrent=2)
    def pair(self, items: list[Item]) -> list[str]:
        MEET.wait()
        return [item.text.upper() for item in items]

    @cog.batch(max_size=8, max_cost=10, cost="tokens")
    def budget(self, items: list[Item]) -> list[str]:
        note(f"budget {' '.join(item.text for item in items)}")
        return [item.text.upper() for item in items]

    @cog.batch(max_size=8, max_wait_ms=60_000)
    def context(self, items: list[Item]) -> list[str]:
        context = cog.current_scope().context
        return [" ".join(f"{k}={context[k]}" for k in ("of", "tenant") if k in context)] * len(items)


class Nested(Base):
    """Calls batched methods in batches, and one that setup has kept."""

    def setup(self) -> None:
        self.kept = self.step

    @cog.batch(max_size=4)
    def plain(self, items: list[Item]) -> list[str]:
        return [self.step(item) for item in items]

    @cog.batch(max_size=4)
    async def gathered(self, items: list[Item]) -> list[str]:
        note(f"gathered {' '.join(item.text for item in items)}")
        return list(await asyncio.gather(*map(self.step, items)))

    @cog.batch(max_size=4)
    def again(self, items: list[Item]) -> list[str]:
        return [self.again(item) for item in items]

    @cog.batch(max_size=4)
    async def ping(self, items: list[Item]) -> list[str]:
        return list(await asyncio.gather(*map(self.pong, items)))

    @cog.batch(max_size=4)
    def pong(self, items: list[Item]) -> list[str]:
        return [self.ping(item) for item in items]

    def later(self, item: Item) -> str:
        """Call the method when the prediction has ended."""

        def call() -> None:
            while not os.path.exists("gate"):
                time.sleep(0.001)
            note("later " + self.step(item))

        threading.Thread(target=call).start()
        return "started"


class NestedAsync(Nested):
    @cog.concurrent(max=16)
    async def run(self, text: str, how: str = "step") -> str:
        note(f"calls {text}")
        result = getattr(self, how)(Item(text))
        return result if isinstance(result, str) else await result


class NestedThreads(Nested):
    @cog.concurrent(max=16)
    def run(self, text: str, how: str = "step") -> str:
        note(f"calls {text}")
        return getattr(self, how)(Item(text))


class Runner(Base):
    @cog.concurrent(max=16)
    async def run(self, text: str, how: str = "step", key: int = 0, steps: int = 1) -> str:
        print("mine", text)
        try:
            args = (KEYS.get(text, key),) if how == "step" else ()
            note(f"calls {text}")
            while text in IDLE and not os.path.exists(IDLE[text]):
                await asyncio.sleep(0.001)
            for _ in range(steps):
                result = await getattr(self, how)(Item(text), *args)
            note(f"results {text}")
            while text == "pauses" and not os.path.exists("gate"):
                await asyncio.sleep(0.001)
            return await getattr(self, how)(Item(text), *args) if text == "pauses" else result
        except BaseException as error:
            note(f"left {text} {type(error).__name__}")
            raise


class Missing(Base):
    async def run(self, text: str) -> str:
        return await self.step()


class CostOfSelf(cog.BaseRunner):
    @cog.batch(max_size=4, max_cost=9, cost=lambda self, item: 1)
    def step(self, item: list[str]) -> list[str]:
        return item

    async def run(self, text: str) -> str:
        return await self.step(text)


class Static(cog.BaseRunner):
    @staticmethod
    @cog.batch(max_size=4)
    def step(item: list[str]) -> list[str]:
        return item

    async def run(self, text: str) -> str:
        return await self.step(text)


class NoList(cog.BaseRunner):
    @cog.batch(max_size=4)
    def step(self, item: str) -> list[str]:
        return [item]

    async def run(self, text: str) -> str:
        return await self.step(text)


class Both(Base):
    @cog.batch(max_size=4)
    def run(self, text: list[str]) -> list[str]:
        return text


class Threads(Base):
    @cog.concurrent(max=16)
    def run(self, text: str, how: str = "step", key: int = 0, steps: int = 1) -> str:
        print("mine", text)
        try:
            args = (KEYS.get(text, key),) if how == "step" else ()
            note(f"calls {text}")
            while text in IDLE and not os.path.exists(IDLE[text]):
                time.sleep(0.001)
            for _ in range(steps):
                result = getattr(self, how)(Item(text), *args)
            note(f"results {text}")
            while text == "pauses" and not os.path.exists("gate"):
                time.sleep(0.001)
            return getattr(self, how)(Item(text), *args) if text == "pauses" else result
        except BaseException as error:
            note(f"left {text} {type(error).__name__}")
            raise


class Mixed(Base):
    """Calls the method on a loop of the prediction, in a thread of it, and in a child process."""

    @cog.concurrent(max=2)
    def run(self, text: str) -> str:
        async def on_loop() -> str:
            return await self.step(Item(text))

        with concurrent.futures.ThreadPoolExecutor(1) as pool:
            in_thread = pool.submit(self.step, Item(text)).result()
        reading, writing = os.pipe()
        if os.fork() == 0:
            os.write(writing, self.step(Item(text)).encode())
            os._exit(0)
        os.wait()
        return " ".join([asyncio.run(on_loop()), in_thread, os.read(reading, 100).decode()])


class Alone(Base):
    def run(self, text: str) -> str:
        return self.step(Item(text))
