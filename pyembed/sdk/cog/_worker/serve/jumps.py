"""Where an exception that a cancel raises at the end of a turn of a loop is caught.

Python looks for it at the jump back to the start of the loop. Compilers from 3.12 on leave some of
these jumps out of the `try` block around the loop, so neither `except` nor `finally` would run. The
state is the same before such a jump and after it, so it may be caught as at the start of the loop.
"""

from __future__ import annotations

from opcode import opmap

import _px

from .swallowed import table

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import CodeType, FrameType

    # begin, end, handler, and the depth of the stack with whether that notes the instruction
    _Entry = tuple[int, int, int, int]

_JUMP = opmap.get("JUMP_BACKWARD")
_EXTENDED = opmap["EXTENDED_ARG"]
_CACHE = opmap.get("CACHE")


def catch_at_jump(frame: FrameType) -> None:
    """Let code at a jump back catch what it catches at the start of the loop, from now on.

    Nothing but signal handlers and other threads raises exceptions there.
    """
    code, at = frame.f_code, frame.f_lasti
    if at < 0 or code.co_code[at] != _JUMP or _JUMP is None:
        return
    end = _end(code, at)
    entries = list(table(code))
    start = _entry(entries, end - _argument(code, at) * 2)
    now = _entry(entries, at)
    if start is None or (now is not None and now[2:] == start[2:]):
        return
    changed = [*_without(entries, at, end), (at, end, *start[2:])]
    packed = b"".join(map(_packed, sorted(changed)))
    before = code.co_exceptiontable  # type: ignore[attr-defined,unused-ignore]
    _px.set_exception_table(code, packed, hash(before))


def _entry(entries: list[_Entry], at: int) -> _Entry | None:
    return next((e for e in entries if e[0] <= at < e[1]), None)


def _without(entries: list[_Entry], begin: int, end: int) -> Iterator[_Entry]:
    for first, last, handler, depth in entries:
        if first < min(last, begin):
            yield first, min(last, begin), handler, depth
        if max(first, end) < last:
            yield max(first, end), last, handler, depth


def _end(code: CodeType, at: int) -> int:
    """Return where the instruction ends, with its caches."""
    text = code.co_code
    return next((i for i in range(at + 2, len(text), 2) if text[i] != _CACHE), len(text))


def _argument(code: CodeType, at: int) -> int:
    text = code.co_code
    prefixes = 0
    while at >= prefixes + 2 and text[at - prefixes - 2] == _EXTENDED:
        prefixes += 2
    return int.from_bytes(text[at - prefixes + 1 : at + 2 : 2], "big")


def _packed(entry: _Entry) -> bytes:
    begin, end, handler, depth = entry
    first, *rest = (_number(n) for n in (begin // 2, (end - begin) // 2, handler // 2, depth))
    return bytes((first[0] | 128, *first[1:])) + b"".join(rest)


def _number(value: int) -> bytes:
    sixes = [value & 63]
    while value := value >> 6:
        sixes.append(value & 63 | 64)
    return bytes(reversed(sixes))
