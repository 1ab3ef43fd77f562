"""Waiting, in an async function, until the front wants items again."""

from __future__ import annotations

from asyncio import get_running_loop

import _px

from ..primitives import start_new_thread


async def resumed(slot: int, id: int) -> None:
    """Wait until the front has ended the pause of a prediction, as it does for a cancel too."""
    loop = get_running_loop()
    future = loop.create_future()

    def end() -> None:
        if not future.done():
            future.set_result(None)

    def wait() -> None:
        _px.wait_resumed(slot, id)
        try:
            loop.call_soon_threadsafe(end)
        except RuntimeError:
            pass  # the loop is closed

    start_new_thread(wait, ())
    await future
