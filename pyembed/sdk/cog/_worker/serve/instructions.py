"""Calls `_px.on_instruction` before each instruction of what the thread of a slot runs.

Python looks for an exception that another thread raises at few instructions. The jump back to the
start of a loop is one, and may be out of reach of the `try` block around the loop. What
`_px.on_instruction` raises comes with the very next instruction.
"""

from __future__ import annotations

import sys

import _px

from .swallowed import JUMP, leaves_out

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import CodeType, FrameType
    from typing import Any

__all__ = ("JUMP", "Instructions")

_NAME = "cog"


class Instructions:
    """The code that is followed. The main thread alone calls this."""

    def __init__(self) -> None:
        self._monitoring: Any = getattr(sys, "monitoring", None)  # since Python 3.12
        self._tool = 0
        self._codes: list[CodeType] = []

    def follow(self, frame: FrameType) -> CodeType | None:
        """Follow what a frame runs, if an exception may miss a `try` block; return its code."""
        if self._monitoring is None or not _has_gil() or not leaves_out(frame):
            return None
        if not self._codes and not self._begin():
            return None
        self._codes.append(frame.f_code)
        self._set(frame.f_code, self._monitoring.events.INSTRUCTION)
        return frame.f_code

    def unfollow(self, code: CodeType) -> None:
        """End that, once for each time that it was begun."""
        self._codes.remove(code)
        if code not in self._codes:
            self._set(code, 0)
        if not self._codes:
            event = self._monitoring.events.INSTRUCTION
            self._monitoring.register_callback(self._tool, event, None)
            self._monitoring.free_tool_id(self._tool)

    def _begin(self) -> bool:
        free = (tool for tool in range(5, -1, -1) if self._monitoring.get_tool(tool) is None)
        tool = next(free, None)
        if tool is None:
            return False
        self._tool = tool
        self._monitoring.use_tool_id(tool, _NAME)
        event = self._monitoring.events.INSTRUCTION
        self._monitoring.register_callback(tool, event, _px.on_instruction)
        return True

    def _set(self, code: CodeType, events: int) -> None:
        self._monitoring.set_local_events(self._tool, code, events)


def _has_gil() -> bool:
    """Return whether the other threads stand still. Those that run miss events."""
    enabled: Any = getattr(sys, "_is_gil_enabled", None)  # since Python 3.13
    return enabled is None or bool(enabled())
