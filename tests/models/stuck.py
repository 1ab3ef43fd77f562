"""Models whose predictions do not end: what the live view shows of them."""

import asyncio
import ctypes
import threading
import time
from concurrent.futures import ThreadPoolExecutor

from cog import Secret, batch, concurrent


def wait_long() -> None:
    time.sleep(1000)


def wait_in_c_with_gil() -> None:
    ctypes.PyDLL(None).sleep(1000)


def run(how: str = "wait", token: Secret = Secret("")) -> str:
    secret_value = token.get_secret_value()
    if how == "pool":
        with ThreadPoolExecutor(1, thread_name_prefix=secret_value) as pool:
            pool.submit(wait_long).result()
    elif how == "gil":
        wait_in_c_with_gil()
    wait_long()
    return secret_value


async def wait_on_loop() -> None:
    await asyncio.sleep(1000)


async def items():
    await wait_on_loop()
    yield 1


@concurrent(max=8)
async def on_loop(how: str = "wait") -> str:
    if how == "gather":
        await asyncio.gather(wait_on_loop(), asyncio.sleep(0))
    elif how == "items":
        async for _ in items():
            pass
    elif how == "task":
        await asyncio.create_task(wait_on_loop())
    elif how == "thread":
        await asyncio.to_thread(wait_long)
    elif how == "block":
        wait_long()
    await wait_on_loop()
    return "never"


@batch(max_size=2)
def in_batches(text: list[str]) -> list[str]:
    threading.Event().wait()
    return text
