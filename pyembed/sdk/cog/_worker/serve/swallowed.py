"""Whether the model has swallowed the exception of a cancel, and so is to get it again.

A helper function, a callback or `contextlib.suppress` may catch it for code that never learns of
it. Code that handles the exception is left alone, and so is a `finally` or `with` block that ends
without one: it may be cleaning up.
"""

from __future__ import annotations

import sys
from functools import lru_cache
from gc import get_referents
from time import monotonic_ns

TYPE_CHECKING = False
if TYPE_CHECKING:
    import asyncio
    from collections.abc import Iterator
    from types import CodeType, FrameType
    from typing import Any

# Nanoseconds from one exception to the next: if the code that caught it has ended or goes on in a
# loop, and if it may be cleaning up without an exception.
SHORT = 90_000_000
LONG = 2_000_000_000

# Flags of code: of generators, coroutines and async generators.
_GENERATORS = 0x20 | 0x80 | 0x200


def is_swallowed(
    error: BaseException, frame: FrameType | None, thread: int, referred: bool, age: int
) -> bool:
    """Return whether to raise again in a thread what was raised in it so many nanoseconds ago.

    frame is what the thread runs. referred says that others refer to the exception.
    """
    if referred and (age < LONG or "greenlet" in sys.modules or _handles(thread, error)):
        return False
    trace = error.__traceback__
    if trace is None:
        return False
    caught = trace.tb_frame  # of the outermost function that it reached
    stack = list(_callers(frame))
    running = caught in stack
    pause = LONG
    if running and caught.f_lasti <= trace.tb_lasti:
        pause = SHORT  # a loop has caught it and goes on
    elif "CancelationException" in caught.f_code.co_names:
        return False  # it is caught by its name, so by intent
    elif not running and not caught.f_code.co_flags & _GENERATORS:
        pause = SHORT  # the function has returned, and its caller has seen no exception
    return age >= pause and not any(_cleans_up(f.f_code, f.f_lasti) for f in stack)


class TaskCancel:
    """Cancels a task, again after its code has swallowed that."""

    def __init__(self, loop: asyncio.AbstractEventLoop, task: asyncio.Task[Any]) -> None:
        self._loop = loop
        self._task = task
        self._cancel()

    def _cancel(self) -> None:
        self._at = monotonic_ns()
        self._waited = _waits(self._task)
        self._task.cancel()
        self._loop.call_later(SHORT / 1e9, self._look)

    def _look(self) -> None:
        if self._task.done():
            return
        pause = self._pause()
        if pause is None:
            self._at = monotonic_ns()
        elif monotonic_ns() - self._at >= pause:
            self._cancel()
            return
        self._loop.call_later(SHORT / 1e9, self._look)

    def _pause(self) -> int | None:
        """Return how long the task may go on as it does; None means without limit."""
        now = _waits(self._task)
        for waiting, _, at, code in now:
            if any(_descends_from_cancel(each) for each in get_referents(waiting)):
                return None
            if code is not None and _cleans_up(code, at):
                return None
        for (waiting, prefix, at, code), (waits, _, is_at, _) in zip(
            self._waited, now, strict=False
        ):
            if waiting is waits and at == is_at:
                continue  # its call has not returned, or a loop calls again
            if code is None or getattr(waiting, prefix + "_frame") is None:
                return SHORT  # it has ended
            return LONG if _is_tried(code, at) else SHORT
        return None  # the cancel has not arrived


def _callers(frame: FrameType | None) -> Iterator[FrameType]:
    while frame is not None:
        yield frame
        frame = frame.f_back


def _handles(thread: int, error: BaseException) -> bool:
    """Return whether a handler of this exception, or of one that it led to, runs in a thread."""
    handled: Any = sys._current_exceptions().get(thread)
    if isinstance(handled, tuple):  # before Python 3.12
        handled = handled[1]
    return any(each is error for each in _contexts(handled))


def _contexts(error: BaseException | None) -> Iterator[BaseException]:
    seen: set[int] = set()
    while error is not None and id(error) not in seen:
        seen.add(id(error))
        yield error
        error = error.__context__


def _descends_from_cancel(value: object) -> bool:
    from asyncio import CancelledError

    return isinstance(value, BaseException) and any(
        isinstance(each, CancelledError) for each in _contexts(value)
    )


def _waits(task: asyncio.Task[Any]) -> list[tuple[Any, str, int, CodeType | None]]:
    """Return what a task waits for, the outermost first, and where, with the code.

    It may wait for other tasks. Futures have no code.
    """
    places: list[tuple[Any, str, int, CodeType | None]] = []
    seen: set[int] = set()
    pending: list[Any] = [task.get_coro()]
    while pending:
        waiting = pending.pop()
        if waiting is None or id(waiting) in seen:
            continue
        seen.add(id(waiting))
        prefix = next((p for p in ("cr", "ag", "gi") if hasattr(waiting, p + "_frame")), "")
        if prefix:
            frame = getattr(waiting, prefix + "_frame")
            if frame is not None:
                places.append((waiting, prefix, frame.f_lasti, frame.f_code))
            pending.append(
                getattr(waiting, "gi_yieldfrom" if prefix == "gi" else prefix + "_await")
            )
        elif hasattr(waiting, "get_coro"):
            if not waiting.done():
                pending.append(waiting.get_coro())
        elif hasattr(waiting, "add_done_callback"):
            places.append((waiting, "", 0, None))
            pending += getattr(waiting, "_children", ())  # of asyncio.gather
        else:
            pending += (r for r in get_referents(waiting) if _is_awaitable(r))  # an iterator of one
    return places


def _is_awaitable(value: object) -> bool:
    return any(hasattr(type(value), name) for name in ("cr_frame", "ag_frame", "add_done_callback"))


def _cleans_up(code: CodeType, at: int) -> bool:
    """Return whether an instruction is of a `finally` block, or at the end of a `with` block."""
    return _line(code, at) in _blocks(code)[0]


def _is_tried(code: CodeType, at: int) -> bool:
    """Return whether a handler of the function catches what an instruction raises."""
    return _line(code, at) in _blocks(code)[1]


def _line(code: CodeType, at: int) -> int | None:
    return next((line for first, last, line in code.co_lines() if first <= at < last), None)


@lru_cache(maxsize=1024)
def _blocks(code: CodeType) -> tuple[set[int], set[int]]:
    """Return the lines of a function's blocks that clean up, and those that a handler covers.

    They are empty without the function's source.
    """
    import ast
    import inspect

    cleaning: set[int] = set()
    tried: set[int] = set()

    def lines(first: Any, last: Any) -> range:
        return range(first.lineno + offset, last.end_lineno + offset + 1)

    try:
        source, start = inspect.getsourcelines(code)
        above = "if True:\n" if start and source[0][0].isspace() else "\n"
        tree = ast.parse(above + "".join(source))
    except (OSError, SyntaxError, IndexError):
        return cleaning, tried
    offset = (start or 1) - 2
    tries: Any = (ast.Try, getattr(ast, "TryStar", ast.Try))  # TryStar: from Python 3.11 on
    for node in ast.walk(tree):
        if isinstance(node, tries):
            last = node.body[-1]
            if node.finalbody:
                cleaning.update(lines(node.finalbody[0], node.finalbody[-1]))
                last = [*node.body, *node.handlers, *node.orelse][-1]
            tried.update(lines(node.body[0], last))
        elif isinstance(node, (ast.With, ast.AsyncWith)):
            cleaning.update(lines(node, node.items[-1].context_expr))
            tried.update(lines(node.body[0], node.body[-1]))
    return cleaning, tried
