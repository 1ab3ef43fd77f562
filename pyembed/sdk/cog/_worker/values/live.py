"""Streamed inputs whose items come while the model runs."""

from __future__ import annotations

import sys
from collections import deque
from weakref import WeakValueDictionary

import _px

from ... import _ranks
from ..errors import bad_value
from ..schema.types import Array
from ..scope import current_scope

TYPE_CHECKING = False
if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable
    from typing import Any

    from ..schema.types import Streamed

# What an item is, as `serving_items.c` says.
_BINARY, _END = -2, -3
# So many items, or so many bytes of them, are reported as read at the latest.
_READ_ITEMS, _READ_BYTES = 32, 512 << 10


class _Items:
    def __init__(self, kind: Streamed, convert: Callable[[Any], Any] | None) -> None:
        self._convert = convert
        self._dtype = kind.inner.dtype if isinstance(kind.inner, Array) else ""
        self._count = 0
        self._ended = False

    def _value(self, what: int, value: Any) -> Any:
        """Return an item as the model gets it. It raises the reason of an input that is broken."""
        if _ranks.step is not None:
            _ranks.step()
        if what == _END:
            self._ended = True
            if value is not None:
                raise bad_value(value)
            return None
        index = self._count
        self._count += 1
        if what == _BINARY and self._dtype:
            numpy: Any = sys.modules["numpy"]
            return numpy.frombuffer(bytearray(value), self._dtype)
        if self._convert is None:
            return value
        try:
            return self._convert(value)
        except (OverflowError, TypeError, ValueError, OSError) as exc:
            raise bad_value(f"item {index} of the streamed input: {exc}") from exc


class Items(_Items):
    """The items of a prediction of a synchronous function. Any of its threads may take them."""

    def __init__(self, kind: Streamed, convert: Callable[[Any], Any] | None) -> None:
        super().__init__(kind, convert)
        self._slot, self._id = _px.open_items()

    def __iter__(self) -> Items:
        return self

    def __next__(self) -> Any:
        if self._ended:
            raise StopIteration
        _, what, value, _ = _px.next_item(self._slot, self._id)
        value = self._value(what, value)
        if self._ended:
            raise StopIteration
        return value


class AsyncItems(_Items):
    """The items of a prediction on the event loop, which `receive_requests` puts in."""

    def __init__(self, kind: Streamed, convert: Callable[[Any], Any] | None) -> None:
        super().__init__(kind, convert)
        import asyncio

        self._loop = asyncio.get_running_loop()
        owner = current_scope().owner
        assert owner is not None  # noqa: S101, Scope.owned is set
        self._slot, self._id = owner
        self._items: deque[tuple[int, Any, int]] = deque()
        self._waiting: deque[asyncio.Future[None]] = deque()
        self._taken = self._bytes = 0  # not reported as read
        _open[self._id] = self
        for item in _early.pop(self._id, ()):
            self.put(*item)
        task: Any = asyncio.current_task()
        task.add_done_callback(self._close)

    def put(self, what: int, value: Any, size: int = 0) -> None:
        """Add an item, and wake who waits for it."""
        self._items.append((what, value, size))
        while self._waiting:
            future = self._waiting.popleft()
            if not future.done():
                future.set_result(None)
                return

    def _close(self, _: Any) -> None:
        self._items.clear()
        self.put(_END, "the prediction of this streamed input has ended")

    def __aiter__(self) -> AsyncItems:
        return self

    async def __anext__(self) -> Any:
        while not self._items:
            if self._ended:
                raise StopAsyncIteration
            future = self._loop.create_future()
            self._waiting.append(future)
            await future
        what, value, size = self._items.popleft()
        self._read(size)
        value = self._value(what, value)
        if self._ended:
            self._wake_others()
            raise StopAsyncIteration
        return value

    def _read(self, size: int) -> None:
        self._taken += 1
        self._bytes += size
        if self._taken >= _READ_ITEMS or self._bytes >= _READ_BYTES:
            _px.items_read(self._slot, self._id, self._taken)
            self._taken = self._bytes = 0

    def _wake_others(self) -> None:
        for future in self._waiting:
            if not future.done():
                future.set_result(None)
        self._waiting.clear()


_open: WeakValueDictionary[int, AsyncItems] = WeakValueDictionary()  # by id
# Items that came together with their request: the client of ranks sends them once rank 0 has begun.
_early: dict[int, list[tuple[int, Any, int]]] = {}


def receive_requests(slot: int) -> list[Any] | None:
    """Return the requests that have come by a slot's socket, and hand the items on."""
    received = _px.receive(slot)
    if received is None:
        return None
    requests: list[Any] = []
    _early.clear()  # the predictions of the last requests have begun
    for each in received:
        if each[1] >= 0:  # the flags of a request
            requests.append(each)
            continue
        items = _open.get(each[0])
        if items is not None:
            items.put(*each[1:])
        elif requests and requests[-1][0] == each[0]:
            _early.setdefault(each[0], []).append(each[1:])
    return requests
