"""The event loop of async models: its selector waits in C, which may poll before it blocks."""

from __future__ import annotations

import asyncio
from selectors import EpollSelector, SelectorKey

import _px

_select = EpollSelector.select


class Selector(EpollSelector):
    """An EpollSelector that waits in C. epoll's own timeout has whole milliseconds."""

    def __init__(self) -> None:
        super().__init__()
        self._fd = self.fileno()

    def select(self, timeout: float | None = None) -> list[tuple[SelectorKey, int]]:
        """Return what is ready after at most timeout seconds."""
        if timeout is None or timeout > 0:
            _px.wait(self._fd, timeout)
        return _select(self, 0)


def new_loop() -> asyncio.AbstractEventLoop:
    """Return a loop of the model's policy, or CPython's own with our selector."""
    loop = asyncio.new_event_loop()
    if (
        type(loop) is not asyncio.SelectorEventLoop
        or type(getattr(loop, "_selector", None)) is not EpollSelector
    ):
        return loop
    loop.close()
    return asyncio.SelectorEventLoop(Selector())
