"""Items that wait for their batch or their answer, and batches that wait to run."""

from __future__ import annotations

import _px

from ..primitives import allocate_lock
from ..scope import Scope
from ..serve.wire import BATCH, BATCH_ITEM, DROP, PREDICT, PREPARED
from ..values.encode import encode
from .items import Batch, Item

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Any

    Frame = tuple[int, int, int, Any, BaseException | None]
    # id, flags, message, error, as in `serve.aioslot`. A batch takes the message's place.
    Request = tuple[int, int, Any, BaseException | None]


class PendingItems:
    """The items of one slot, each from its request to its answer.

    Threads of `stages` report prepared items at any time. The lock decides which answer an item
    gets, so that it gets one.
    """

    def __init__(
        self,
        slot: int,
        prepare: Callable[[PendingItems, Item], None] | None,
        ready: Callable[[Batch], None],
    ) -> None:
        self.slot = slot
        self._items: dict[int, Item] = {}
        self._lock = allocate_lock()
        self._prepare = prepare  # starts an item's preprocess
        self._ready = ready  # takes a batch whose last item was prepared
        self.waiting: set[Batch] = set()  # batches that have not started

    def sort(self, frames: Iterable[Frame]) -> list[Request]:
        """Take frames from the front; return the requests to run, in order."""
        work: list[Request] = []
        dropped: list[Item] = []
        items = self._items
        for kind, id, flags, message, error in frames:
            if kind == PREDICT and flags & BATCH_ITEM:
                item = Item(self.slot, id, flags, message, error)
                items[id] = item
                if self._prepare is None:
                    continue
                item.unprepared = True
                if not item.function:
                    self._prepare(self, item)
                elif self.prepared(item):  # only run has a preprocess
                    item.answer(0, None)
            elif kind == PREPARED:  # `serving_batchloop.c` has read it
                item = Item(self.slot, id, flags, None, None)
                item.inputs = message
                items[id] = item
            elif kind == PREDICT:
                work.append((id, flags, message, error))
            elif kind == BATCH:
                with self._lock:
                    batch = self._form(id, message["ids"], message.get("context"))
                if batch is not None:
                    work.append((id, 0, batch, None))
            elif kind == DROP:
                with self._lock:
                    dropped += self._drop(message["ids"])
        for item in dropped:
            item.cancel()
        if dropped:
            _px.flush(self.slot)
        return work

    def take_ready(self, frames: list[Frame]) -> list[Item]:
        """Take the items of a batch that has started; return them."""
        self.sort(frames)
        return [self._items[id] for _, id, *_ in frames]

    def _form(self, id: int, ids: list[int], context: dict[str, str] | None) -> Batch | None:
        """Make a batch; return None if it waits for items that are not prepared."""
        items = self._items
        batch = Batch(id, [items[name] for name in ids if name in items])  # others are answered
        if context is not None:
            batch.scope = Scope(context)
        for item in batch.items:
            item.batch = batch
            batch.unprepared += item.unprepared
        self.waiting.add(batch)
        return None if batch.unprepared else batch

    def _drop(self, ids: list[int]) -> list[Item]:
        """Mark items as dropped; return those in no batch, which the caller answers."""
        now = []
        for name in ids:
            item = self._items.get(name)
            if item is None:
                continue  # it is answered
            if item.batch is None:
                now.append(self._items.pop(name))
            item.dropped = True
        return now

    def prepared(self, item: Item) -> bool:
        """Note that an item's preprocess has ended.

        Return whether it failed outside of a batch, so that the caller answers it.
        """
        with self._lock:
            item.unprepared = False
            batch = item.batch
            if batch is not None:
                batch.unprepared -= 1
                if batch.unprepared:
                    return False
            elif item.id not in self._items:
                return False  # dropped meanwhile
            elif item.error is not None:
                del self._items[item.id]
                return True
            else:
                # Under the lock: the front must not get this after the answer to a drop.
                _px.prepared(self.slot, item.id)
                return False
        self._ready(batch)
        return False

    def answer(self, item: Item, nanos: int, metrics: dict[str, Any] | None) -> None:
        """Queue the answer of an item that was in a batch."""
        del self._items[item.id]
        item.answer(nanos, metrics)

    def answer_all(self, batch: Batch) -> None:
        """Queue the answers of all items of a batch."""
        items, nanos, metrics = batch.take_items(), batch.nanos, batch.metrics()
        done = 0
        values = [item.value for item in items if item.is_usual()]
        if len(values) == len(items):
            ids = [item.id for item in items]
            done = _px.reply_batch(self.slot, ids, values, nanos, metrics, self._encode)
            for id in ids[:done]:
                del self._items[id]
        for item in items[done:]:
            self.answer(item, nanos, metrics)

    def _encode(self, value: Any) -> Any:
        """Encode a value, which may take long: the answers before it do not wait."""
        _px.arm_for(self.slot)
        return encode(value)

    def revoke(self, batch: Batch) -> None:
        """Drop the items of a batch that the front has revoked."""
        self.waiting.discard(batch)
        for item in batch.take_items():
            item.dropped = True
            self.answer(item, 0, None)
