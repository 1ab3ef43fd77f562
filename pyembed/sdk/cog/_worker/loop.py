"""The event loop of async models: punctual, and awake between requests that come one by one."""

from __future__ import annotations

import asyncio
from selectors import EpollSelector, SelectorKey

import _px

_select = EpollSelector.select


class Selector(EpollSelector):
    """An EpollSelector that leaves the waiting to us: epoll's own ends whole milliseconds late."""

    def __init__(self) -> None:
        super().__init__()
        self._fd = self.fileno()

    def select(self, timeout: float | None = None) -> list[tuple[SelectorKey, int]]:
        """Return what is ready, after a wait of at most so many seconds."""
        if timeout is None or timeout > 0:
            _px.wait(self._fd, timeout)
        return _select(self, 0)


def new_loop() -> asyncio.AbstractEventLoop:
    """Return a loop of the kind that the model has set, or else CPython's with our selector."""
    loop = asyncio.new_event_loop()
    if (
        type(loop) is not asyncio.SelectorEventLoop
        or type(getattr(loop, "_selector", None)) is not EpollSelector
    ):
        return loop
    loop.close()
    return asyncio.SelectorEventLoop(Selector())
