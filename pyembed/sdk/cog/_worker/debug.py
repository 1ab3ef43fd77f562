"""`breakpoint()` in a model: pdb on the terminal of `pinion predict`, an error in a server."""

from __future__ import annotations

import os
import signal
from contextlib import contextmanager
from pdb import Pdb

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any


class _Debugger(Pdb):
    """A debugger on the controlling terminal, which this process has only while it asks."""

    def __init__(self) -> None:
        reader = open("/dev/tty", encoding="utf-8", errors="replace")  # noqa: SIM115
        writer = open("/dev/tty", "w", encoding="utf-8", errors="replace")  # noqa: SIM115
        super().__init__(stdin=reader, stdout=writer)
        self.terminal = reader.fileno()

    def interaction(self, *args: Any, **kwargs: Any) -> None:
        with _foreground(self.terminal):
            self.stdout.write("\r\x1b[K")  # what the command shows of its progress
            super().interaction(*args, **kwargs)


_debuggers: list[_Debugger] = []  # one is enough: "until" and "return" go on in it


def stop_at(caller: Any, has_terminal: bool) -> None:
    """Stop in the frame of a model that called `breakpoint`."""
    if not has_terminal:
        raise RuntimeError(
            "breakpoint() needs a terminal, and a server's worker has none: "
            "run `pinion predict` in a terminal, or set PYTHONBREAKPOINT to a debugger that listens"
        )
    if not _debuggers:
        _debuggers.append(_Debugger())
    _debuggers[0].set_trace(caller)


@contextmanager
def _foreground(terminal: int) -> Iterator[None]:
    """Let this process read from the terminal: only the group of processes in front may."""
    before = os.tcgetpgrp(terminal)
    blocked = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTTOU})  # it would stop this one
    try:
        os.tcsetpgrp(terminal, os.getpgrp())
        try:
            yield
        finally:
            os.tcsetpgrp(terminal, before)
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, blocked)
