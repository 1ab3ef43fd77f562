"""Exceptions as text, for answers and their logs. The end of a worker that cannot serve."""

from __future__ import annotations

import os
import sys

from ..errors import CallError, InputError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from traceback import TracebackException
    from types import FrameType
    from typing import Any

# Files below this folder are the runtime's own.
_OWN = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep

# How long the front has, in seconds, to end a worker whose descriptors the model has closed. It
# sees that in its sockets, and names it as the cause.
_CLOSED_WAIT = 10


def describe(exc: BaseException) -> str:
    """Return an exception as in the last line of its traceback.

    >>> describe(ValueError("no such size"))
    'ValueError: no such size'
    >>> describe(KeyError())
    'KeyError'
    """
    if isinstance(exc, (NameError, AttributeError, ImportError)):
        # Only the traceback module can add Python's guess ("Did you mean").
        text = _with_guess(exc)
        if text:
            return _printable(text)
    kind = type(exc)
    name = kind.__qualname__
    if isinstance(exc, CallError):
        return _printable(str(exc))  # the error of the model that was called
    if kind.__module__ not in ("builtins", "__main__"):
        name = f"{kind.__module__}.{name}"
    try:
        message = exc.msg if isinstance(exc, SyntaxError) else str(exc)
    except Exception:
        message = f"<no message: str() of {kind.__qualname__} failed>"
    return _printable(f"{name}: {message}" if message else name)


def answer_of(exc: BaseException) -> str | dict[str, Any]:
    """Return what the front is told of an exception: its text, or what is the client's fault."""
    try:
        if (fault := _client_fault(exc)) is not None:
            return fault
    except BaseException:
        pass  # an exception of the model that breaks code which looks at it
    return one_line(exc)


def bad_value(text: str) -> InputError:
    """Return the error of an input that the schema allows and that has no value of its type."""
    error = InputError(text)
    error.status = 0  # each protocol has its own for a bad input
    return error


def _client_fault(exc: BaseException) -> dict[str, Any] | None:
    """Return the text, status and code of an exception that is the client's fault, or None.

    The libraries are known by their classes' names, and never imported.
    """
    if isinstance(exc, InputError):
        return _fault(str(exc), exc.status, exc.code)
    for cls in type(exc).__mro__:
        if cls.__name__ == "ValidationError" and cls.__module__ in _PYDANTIC:
            return _fault(one_line(exc), 422, None)
        if cls.__name__ == "HTTPException" and cls.__module__ == "starlette.exceptions":
            detail = getattr(exc, "detail", "")
            if not isinstance(detail, str):
                import json

                detail = json.dumps(detail, default=str)
            return _fault(detail, getattr(exc, "status_code", 500), None)
    return None


# Where the class of pydantic's errors is, in its versions 2 and 1.
_PYDANTIC = ("pydantic_core._pydantic_core", "pydantic.error_wrappers")


def _fault(text: str, status: Any, code: Any) -> dict[str, Any] | None:
    if status and not 400 <= status <= 499:
        return None  # an HTTPException of the model that says the server is at fault
    return {"text": _printable(text), "status": int(status), "code": _printable(code or "")}


def one_line(exc: BaseException) -> str:
    """Do the same, also for an exception of the model that breaks code which looks at it."""
    try:
        return describe(exc)
    except BaseException:
        return f"{_name(exc)}: <its message cannot be shown>"


def _name(exc: BaseException) -> str:
    # A metaclass of the model's may say what it likes, or raise.
    name: str = type.__dict__["__qualname__"].__get__(type(exc))
    return name


def traceback_text(exc: BaseException) -> str:
    """Return the traceback of an exception without the runtime's own frames."""
    try:
        import traceback

        report = traceback.TracebackException(type(exc), exc, exc.__traceback__, compact=True)
        _drop_own_frames(report, 0)
        return _printable("".join(report.format()))
    except BaseException as problem:
        # A model's exception may break code that looks at it.
        return f"{one_line(exc)}\n(its traceback cannot be shown: {one_line(problem)})\n"


def stack_text(frame: FrameType) -> str:
    """Return the stack of a thread in the form of a traceback, without the runtime's own frames."""
    import traceback

    stack = traceback.StackSummary.extract(traceback.walk_stack(frame))
    stack.reverse()
    shown = [entry for entry in stack if not _is_own(entry.filename)]
    return _printable("".join(traceback.StackSummary.from_list(shown).format()))


def _with_guess(exc: BaseException) -> str:
    try:
        import traceback

        report = traceback.TracebackException(type(exc), exc, exc.__traceback__, lookup_lines=False)
        return next(iter(report.format_exception_only())).rstrip("\n")
    except Exception:
        return ""


def _drop_own_frames(report: TracebackException, depth: int) -> None:
    """Remove our frames from a report and from those of its causes."""
    if depth > 100:
        return
    shown = [frame for frame in report.stack if not _is_own(frame.filename)]
    report.stack[:] = shown
    nested = [report.__cause__, report.__context__, *(getattr(report, "exceptions", None) or ())]
    for inner in nested:
        if inner is not None:
            _drop_own_frames(inner, depth + 1)


def _is_own(filename: str) -> bool:
    # <cog ...> is code that values/coerce.py generates; <string> is the bootstrap.
    return filename.startswith((_OWN, "<cog ")) or filename == "<string>"


def _printable(text: str) -> str:
    """Return text that UTF-8 can hold; lone surrogates become escapes."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode(errors="backslashreplace").decode()
    return text


def abort(error: BaseException) -> None:
    """End a worker that cannot serve any more.

    It ends at once: the front waits for its answers, and threads of the model could keep an orderly
    shutdown from ending.
    """
    import _px

    try:
        sys.__excepthook__(type(error), error, error.__traceback__)
        _px.log_positions()  # flushes
        from errno import EBADF
        from time import sleep

        if getattr(error, "errno", 0) == EBADF:
            sleep(_CLOSED_WAIT)
    finally:
        os._exit(1)
