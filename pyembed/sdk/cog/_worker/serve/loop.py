"""The event loop of async models: its selector waits in C, which may poll before it blocks."""

from __future__ import annotations

import asyncio
import selectors

import _px

TYPE_CHECKING = False
if TYPE_CHECKING:
    from selectors import EpollSelector, SelectorKey
    from typing import Any
else:
    # gevent and eventlet remove it. Their loops wait by their own selectors.
    EpollSelector = getattr(selectors, "EpollSelector", None)


class Selector(EpollSelector or object):  # type: ignore[misc]
    """An EpollSelector that waits in C. epoll's own timeout has whole milliseconds."""

    def __init__(self) -> None:
        super().__init__()
        self._fd = self.fileno()
        self._keys: dict[int, SelectorKey] = {}  # by descriptor

    def register(self, fileobj: Any, events: int, data: Any = None) -> SelectorKey:
        """Begin to watch a file."""
        return self._keep(super().register(fileobj, events, data))

    def modify(self, fileobj: Any, events: int, data: Any = None) -> SelectorKey:
        """Watch a file for something else."""
        return self._keep(super().modify(fileobj, events, data))

    def _keep(self, key: SelectorKey) -> SelectorKey:
        self._keys[key.fd] = key
        return key

    def unregister(self, fileobj: Any) -> SelectorKey:
        """Stop watching a file."""
        key: SelectorKey = super().unregister(fileobj)
        self._keys.pop(key.fd, None)
        return key

    def select(self, timeout: float | None = None) -> list[tuple[SelectorKey, int]]:
        """Return what is ready after at most timeout seconds."""
        ready: list[tuple[SelectorKey, int]] = _px.select(self._fd, timeout, self._keys)
        return ready


def new_loop() -> asyncio.AbstractEventLoop:
    """Return a loop of the model's policy, or CPython's own with our selector."""
    loop = asyncio.new_event_loop()
    if (
        EpollSelector is None
        or type(loop) is not asyncio.SelectorEventLoop
        or type(getattr(loop, "_selector", None)) is not EpollSelector
    ):
        return loop
    loop.close()
    return asyncio.SelectorEventLoop(Selector())


def close_loop(loop: asyncio.AbstractEventLoop) -> None:
    """Cancel the tasks that the model left on a loop and close it, as asyncio.run does."""
    tasks = asyncio.all_tasks(loop)
    for task in tasks:
        task.cancel()
    loop.run_until_complete(_wait(tasks))
    loop.run_until_complete(loop.shutdown_asyncgens())
    loop.close()


async def _wait(tasks: set[asyncio.Task[Any]]) -> None:
    if tasks:
        await asyncio.wait(tasks)
