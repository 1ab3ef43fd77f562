"""What the worker holds for the front: items that will ride, and rides whose turn has not come."""

from __future__ import annotations

from threading import Lock

import _px

from .encode import encode
from .rides import Item, Ride
from .wire import BATCH, DROP, HELD, PREDICT, PREPARED

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Any

    Frame = tuple[int, int, int, Any, BaseException | None]
    # As the slots of `aio` have it: id, flags, message, error. A ride stands for its message.
    Request = tuple[int, int, Any, BaseException | None]


class Held:
    """The items of one slot, each from its request to its answer.

    With a preprocess, threads of `around` say when an item is prepared, at any moment between the
    frames; so one lock decides what becomes of an item, and an item is answered once.
    """

    def __init__(
        self, slot: int, prepare: Callable[[Held, Item], None] | None, ready: Callable[[Ride], None]
    ) -> None:
        self.slot = slot
        self._items: dict[int, Item] = {}
        self._lock = Lock()
        self._prepare = prepare  # begins an item's preprocess
        self._ready = ready  # takes a ride whose last item was prepared
        self.rides: set[Ride] = set()  # those that have not begun

    def sort(self, frames: Iterable[Frame]) -> list[Request]:
        """Take in what the front sent; return what is to be run, in order."""
        work: list[Request] = []
        dropped: list[Item] = []
        items = self._items
        for kind, id, flags, message, error in frames:
            if kind == PREDICT and flags & HELD:
                item = Item(self.slot, id, flags, message, error)
                items[id] = item
                if self._prepare is not None:
                    item.unprepared = True
                    self._prepare(self, item)
            elif kind == PREPARED:  # `px_rides.c` has read it
                item = Item(self.slot, id, flags, None, None)
                item.inputs = message
                items[id] = item
            elif kind == PREDICT:
                work.append((id, flags, message, error))
            elif kind == BATCH:
                with self._lock:
                    ride = self._board(id, message["ids"])
                if ride is not None:
                    work.append((id, 0, ride, None))
            elif kind == DROP:
                with self._lock:
                    dropped += self._drop(message["ids"])
        for item in dropped:
            item.cancel()
        if dropped:
            _px.flush(self.slot)
        return work

    def take_ready(self, frames: list[Frame]) -> list[Item]:
        """Take in items whose ride has begun; return them."""
        self.sort(frames)
        return [self._items[id] for _, id, *_ in frames]

    def _board(self, id: int, ids: list[int]) -> Ride | None:
        """Make a ride; None where it waits for items that are not prepared."""
        held = self._items
        # One that is not held any more has its answer.
        ride = Ride(id, [held[name] for name in ids if name in held])
        for item in ride.items:
            item.ride = ride
            ride.unprepared += item.unprepared
        self.rides.add(ride)
        return None if ride.unprepared else ride

    def _drop(self, ids: list[int]) -> list[Item]:
        """Forget items; return those that are to be answered now."""
        now = []
        for name in ids:
            item = self._items.get(name)
            if item is None:
                continue  # it has its answer
            if item.ride is None:
                now.append(self._items.pop(name))
            item.dropped = True
        return now

    def prepared(self, item: Item) -> bool:
        """Take note that an item's preprocess is over.

        Tells whether it failed before it could ride, and so is to be answered by the caller.
        """
        with self._lock:
            item.unprepared = False
            ride = item.ride
            if ride is not None:
                ride.unprepared -= 1
                if ride.unprepared:
                    return False
            elif item.id not in self._items:
                return False  # dropped meanwhile
            elif item.error is not None:
                del self._items[item.id]
                return True
            else:
                # With the lock held: the front must not hear of it after the answer to a drop.
                _px.prepared(self.slot, item.id)
                return False
        self._ready(ride)
        return False

    def answer(self, item: Item, nanos: int, metrics: dict[str, Any] | None) -> None:
        """Queue the answer of an item that rode."""
        del self._items[item.id]
        item.answer(nanos, metrics)

    def answer_all(self, ride: Ride) -> None:
        """Queue the answers of all items of a ride."""
        items, nanos, metrics = ride.alight(), ride.nanos, ride.metrics()
        done = 0
        values = [item.value for item in items if item.is_usual()]
        if len(values) == len(items):
            ids = [item.id for item in items]
            done = _px.reply_riders(self.slot, ids, values, nanos, metrics, encode)
            for id in ids[:done]:
                del self._items[id]
        for item in items[done:]:
            self.answer(item, nanos, metrics)

    def give_back(self, ride: Ride) -> None:
        """Forget the items of a ride that the front has taken back."""
        self.rides.discard(ride)
        for item in ride.alight():
            item.dropped = True
            self.answer(item, 0, None)
