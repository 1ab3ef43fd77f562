"""Cancels that are put off to the next instruction.

Python looks for the exception of a cancel at the jump back to the start of a loop. From 3.12 on,
this jump may lie outside of the `try` block around the loop, or count as what precedes the loop, so
neither `except` nor `finally` would run. The next instruction is the first one of the loop.
"""

from __future__ import annotations

import sys

import _px

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import CodeType, FrameType
    from typing import Any

_NAME = "pinion"
_monitoring: Any = getattr(sys, "monitoring", None)  # from Python 3.12 on
_watched: list[CodeType] = []


def postpone(frame: FrameType, anywhere: bool) -> bool:
    """Have `_px.ask_again` called at the next instruction of a frame's code.

    Returns False if it is not: the frame is at no jump back, unless anywhere is true; or Python or
    the model's own tools leave no way to do it.
    """
    code, at = frame.f_code, frame.f_lasti
    if _monitoring is None or at < 0:
        return False
    if not anywhere and not _jumps_back(code, at):
        return False
    if not _watched and not _claim():
        return False
    _watched.append(code)
    _monitoring.set_local_events(_tool(), code, _monitoring.events.INSTRUCTION)
    return True


def _jumps_back(code: CodeType, at: int) -> bool:
    import dis

    step = next((each for each in dis.get_instructions(code) if each.offset == at), None)
    return step is not None and step.opcode in dis.hasjrel and step.argval < at


def end() -> None:
    """Take back what postpone has set."""
    tool = _tool()
    while _watched:
        _monitoring.set_local_events(tool, _watched.pop(), 0)
    _monitoring.free_tool_id(tool)


def _tool() -> int:
    return next(n for n in range(6) if _monitoring.get_tool(n) == _NAME)


def _claim() -> bool:
    """Claim one of the ids that Python has for tools, the last one that is free."""
    free = [n for n in range(6) if _monitoring.get_tool(n) is None]
    if free:
        _monitoring.use_tool_id(free[-1], _NAME)
        _monitoring.register_callback(free[-1], _monitoring.events.INSTRUCTION, _px.ask_again)
    return bool(free)
