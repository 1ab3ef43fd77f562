"""The items of an iterator that a call gives to another model, while the model answers."""

from __future__ import annotations

from _contextvars import copy_context
from _thread import allocate_lock
from collections import deque
from contextlib import suppress

from ..errors import CallError
from .callfiles import InputFiles
from .serve.wire import BINARY, ITEM, ITEMS_END

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from .calls import Exchange

# So many items, or so many bytes of them, are sent before the server has taken them. A larger one
# goes alone.
_MOST_ITEMS, _MOST_BYTES = 32, 512 << 10


def take_source(function: str, inputs: dict[str, Any]) -> tuple[str, Any]:
    """Take the iterator out of the inputs of a call, and return it and its name, "" without one."""
    names = [name for name, value in inputs.items() if _is_iterator(value)]
    if not names:
        return "", None
    if len(names) > 1:
        raise CallError(
            f"cog.{function}: only one input can be an iterator, not {', '.join(names)}"
        )
    source = inputs.pop(names[0])
    if function == "call" and not hasattr(source, "__next__"):
        raise CallError(f'cog.call: input "{names[0]}" is an async iterator: use cog.call_async')
    return names[0], source


def _is_iterator(value: Any) -> bool:
    kind = type(value)  # a file has __next__, and is a file
    return (hasattr(kind, "__next__") or hasattr(kind, "__anext__")) and not hasattr(kind, "read")


class Feed:
    """Sends the items of an iterator: in a thread, or in a task of the loop."""

    def __init__(self, exchange: Exchange, source: Any, calls: str) -> None:
        self._exchange = exchange
        self._source = source
        self._calls = calls
        self._sizes: deque[int] = deque()  # of the items that the server has not taken
        self._bytes = 0
        self._lock = allocate_lock()  # for both
        self._copies: list[InputFiles] = []
        self._closed = False
        self._wake: Any = None  # wakes what waits for room
        self._task: Any = None
        self.error: BaseException | None = None  # of the iterator

    def took(self, items: int) -> None:
        """Note that the server has taken that many more items."""
        with self._lock:
            for _ in range(min(items, len(self._sizes))):
                self._bytes -= self._sizes.popleft()
        self._wake()

    def close(self) -> None:
        """End the feed. An iterator that waits for its own next item goes on until it has that."""
        self._closed = True
        self._wake()
        if self._task is not None:
            self._task.cancel()
        for files in self._copies:
            files.remove()

    def _is_full(self) -> bool:
        return len(self._sizes) >= _MOST_ITEMS or self._bytes >= _MOST_BYTES

    def _frame(self, item: Any) -> tuple[int, int, bytes]:
        """Return the kind, the flags and the body for an item."""
        if isinstance(item, (bytes, bytearray, memoryview)):
            frame = ITEM, BINARY, bytes(item)
        else:
            files = InputFiles(self._calls)
            self._copies.append(files)
            body = {"input": item, "token": files.token, "files": files.paths}
            frame = ITEM, 0, self._exchange.dumps(body, files)
            if not files.has_copies():
                self._copies.pop()
        with self._lock:
            self._sizes.append(len(frame[2]))
            self._bytes += len(frame[2])
        return frame

    def _end(self, error: BaseException | None = None) -> tuple[int, int, bytes]:
        self.error = error
        text = "" if error is None else f"the caller's iterator: {type(error).__name__}: {error}"
        return ITEMS_END, 0, text.encode("utf-8", "replace")

    def start_thread(self) -> None:
        """Feed from a thread."""
        from threading import Event, Thread

        room = Event()
        self._wake = room.set

        def send(frame: tuple[int, int, bytes]) -> bool:
            try:
                self._exchange.send_frame(*frame)
            except OSError:
                return False  # the call has ended
            return True

        def feed() -> None:
            try:
                for item in self._source:
                    while self._is_full() and not self._closed:
                        room.clear()
                        if self._is_full() and not self._closed:
                            room.wait()
                    if self._closed or not send(self._frame(item)):
                        return
                end = self._end()
            except BaseException as exc:
                end = self._end(exc)
            send(end)

        Thread(target=copy_context().run, args=(feed,), daemon=True).start()

    def start_task(self) -> None:
        """Feed from a task of the running loop."""
        from asyncio import Event, get_running_loop

        room = Event()
        self._wake = room.set

        async def send(frame: tuple[int, int, bytes]) -> None:
            with suppress(OSError):  # the call has ended, which cancels this task
                await self._exchange.send_frame_async(*frame)

        async def send_item(item: Any) -> None:
            while self._is_full():
                room.clear()
                await room.wait()
            await send(self._frame(item))

        async def feed() -> None:
            try:
                if hasattr(self._source, "__anext__"):
                    async for item in self._source:
                        await send_item(item)
                else:
                    for item in self._source:
                        await send_item(item)
                end = self._end()
            except Exception as exc:
                end = self._end(exc)
            await send(end)

        self._task = get_running_loop().create_task(feed())
