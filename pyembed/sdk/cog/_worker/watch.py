"""Noticing code that blocks the event loop, which no other prediction gets past."""

from __future__ import annotations

import _thread
import sys
import time

from . import errors

TYPE_CHECKING = False
if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable

_AFTER = 1.0  # seconds without a turn of the loop
_LINGER = 1.0  # it stays awake for so long after the last prediction
_LOOKS = 2  # in that time: a process that was stopped goes on between two of them


class Watch:
    """Sees whether the loop turns while predictions run; warns once, and is done then.

    It has a thread that sleeps while the worker is idle. asyncio's debug mode finds such calls too,
    but makes every callback slower, and says so only when the call is over.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop, is_busy: Callable[[], bool]) -> None:
        self._loop = loop
        self._is_busy = is_busy  # predictions run, none of which blocks the loop by its nature
        self._main = _thread.get_ident()
        self._turns = 0
        self._asleep = _thread.allocate_lock()
        self._asleep.acquire()
        self.awake = False

    def start(self) -> None:
        """Start the thread; call this on the loop's."""
        _thread.start_new_thread(self._run, ())

    def wake(self) -> None:
        """Watch from now on, until no prediction runs."""
        self.awake = True
        if self._asleep.locked():
            self._asleep.release()

    def _run(self) -> None:
        while True:
            self._asleep.acquire()
            while self.awake:
                if self._is_busy() and self._is_stuck():
                    self._warn()
                    return  # awake stays set: nobody wakes it again
                if not self._is_busy():
                    # Waking this thread costs more than a quick prediction: not for each of them.
                    time.sleep(_LINGER)
                    if self._is_busy():
                        continue
                    self.awake = False
                    # One that began before that saw it awake.
                    self.awake = self._is_busy()

    def _is_stuck(self) -> bool:
        """Ask for a turn of the loop, and tell whether it did not come."""
        before = self._turns
        try:
            self._loop.call_soon_threadsafe(self._turn)
        except RuntimeError:
            return False  # the loop is closed: the worker leaves
        for _ in range(_LOOKS):
            time.sleep(_AFTER / _LOOKS)
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
                "asyncio.to_thread. This is said once. It is here:\n" + stack
            )
            sys.stderr.flush()
        except Exception:
            pass  # the model closed or replaced its stderr
