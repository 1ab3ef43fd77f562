"""Warning about code that blocks the event loop, and with it all other predictions."""

from __future__ import annotations

import sys

from .. import errors
from ..primitives import allocate_lock, block_signals, get_ident, sleep, start_new_thread

TYPE_CHECKING = False
if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable

_AFTER = 1.0  # seconds without a turn of the loop
_LINGER = 1.0  # seconds that it stays awake after the last prediction
_LOOKS = 2  # checks in _AFTER: a process that was stopped and continues passes the second


def _never() -> bool:
    return False


class Watch:
    """Checks that the loop turns while predictions run, and warns once.

    Its thread sleeps while the worker is idle. asyncio's debug mode finds such calls too, but it
    slows every callback down and reports a call only when it has ended.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop, is_busy: Callable[[], bool]) -> None:
        self._loop = loop
        self._is_busy = is_busy  # async predictions run, and no synchronous one
        self._main = get_ident()
        self._turns = 0
        self._asleep = allocate_lock()
        self._asleep.acquire()
        self.awake = False
        self._ended = False

    def start(self) -> None:
        """Start the thread. The loop's thread calls this."""
        start_new_thread(self._run, ())

    def stop(self) -> None:
        """End the thread, which refers to the model, soon."""
        self._is_busy = _never
        self._ended = True
        if self._asleep.locked():
            self._asleep.release()

    def wake(self) -> None:
        """Watch until no prediction runs."""
        self.awake = True
        if self._asleep.locked():
            self._asleep.release()

    def _run(self) -> None:
        block_signals()
        while not self._ended:
            self._asleep.acquire()
            while self.awake:
                if self._is_busy() and self._is_stuck():
                    self._warn()
                    return  # awake stays set, so that nothing wakes it again
                if not self._is_busy():
                    # Waking this thread costs more than a quick prediction: stay awake for a while.
                    sleep(_LINGER)
                    if self._is_busy():
                        continue
                    self.awake = False
                    # A prediction that started before that line did not wake it.
                    self.awake = self._is_busy()

    def _is_stuck(self) -> bool:
        """Schedule a callback on the loop, and return whether it did not run in time."""
        before = self._turns
        try:
            self._loop.call_soon_threadsafe(self._turn)
        except RuntimeError:
            return False  # the loop is closed: the worker ends
        for _ in range(_LOOKS):
            sleep(_AFTER / _LOOKS)
            if self._turns != before:
                return False
        return self._is_busy()

    def _turn(self) -> None:
        self._turns += 1

    def _warn(self) -> None:
        frame = sys._current_frames().get(self._main)
        if frame is None:
            return
        stack = errors.stack_text(frame)
        try:
            sys.stderr.write(
                f"Warning: async code has blocked the event loop for {_AFTER:g} s. No other "
                "prediction of this worker goes on meanwhile; await such work, or give it to "
                "asyncio.to_thread. This warning appears once. The code is:\n" + stack
            )
            sys.stderr.flush()
        except Exception:
            pass  # the model closed or replaced its stderr
