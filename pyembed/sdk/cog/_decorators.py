"""Decorators of a model's functions: how they run, an example of their inputs, what agents know."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, TypeVar, overload

    _F = TypeVar("_F", bound=Callable[..., Any])
else:

    def overload(function: object) -> object:
        """Stand in for typing.overload, which costs an import of typing."""
        return function


FUNCTION_ATTRIBUTE = "__cog_function__"


def mark(function: _F, decorator: str, attribute: str, value: object) -> _F:
    """Store what a decorator says about a function; raise TypeError if it is none."""
    if not callable(function):
        raise TypeError(f"@{decorator} must decorate a function, not {type(function).__name__}")
    setattr(function, attribute, value)
    return function


def flags_of(function: object) -> int:
    """Return the code flags of a function, 0 for other callables."""
    flags: int = getattr(getattr(function, "__code__", None), "co_flags", 0)
    return flags


@overload
def streaming(fn: _F) -> _F: ...
@overload
def streaming(fn: None = None) -> Callable[[_F], _F]: ...
def streaming(fn: _F | None = None) -> _F | Callable[[_F], _F]:
    """Allow clients to read this function's output item by item as it is made.

    The function must return an iterator; the check is made when the model is
    loaded. It works with and without parentheses.

    >>> from collections.abc import Iterator
    >>> from cog import BaseRunner, streaming
    >>> class Runner(BaseRunner):
    ...     @streaming
    ...     def run(self, n: int) -> Iterator[int]:
    ...         yield from range(n)
    """

    def marked(function: _F) -> _F:
        return mark(function, "streaming", "__cog_streaming__", True)

    return marked if fn is None else marked(fn)


@overload
def concurrent(fn: _F, *, max: int = 1, isolate: bool = False) -> _F: ...
@overload
def concurrent(fn: None = None, *, max: int = 1, isolate: bool = False) -> Callable[[_F], _F]: ...
def concurrent(
    fn: _F | None = None, *, max: int = 1, isolate: bool = False
) -> _F | Callable[[_F], _F]:
    """Let up to max predictions run at once in one worker.

    Predictions of an async function share one event loop. Those of another function
    run on threads, one for each, over the same model: its code must allow that. If one
    of those crashes the worker, isolate runs the others once more, each alone; the model
    then sees their inputs twice. Raises TypeError for a max that is not an int or an
    isolate that is not a bool, ValueError for a max below 1.

    >>> from cog import BaseRunner, concurrent
    >>> class Runner(BaseRunner):
    ...     @concurrent(max=8)
    ...     async def run(self, text: str) -> str:
    ...         return text
    """
    if isinstance(max, bool) or not isinstance(max, int):
        raise TypeError(f"concurrent: max must be an int, not {type(max).__name__}")
    if not isinstance(isolate, bool):
        raise TypeError(f"concurrent: isolate must be a bool, not {type(isolate).__name__}")
    if max < 1:
        raise ValueError(f"concurrent: max must be at least 1, not {max}")

    def marked(function: _F) -> _F:
        if isolate:
            mark(function, "concurrent", "__cog_isolate__", isolate)
        return mark(function, "concurrent", "__cog_concurrency__", max)

    return marked if fn is None else marked(fn)


@overload
def function(fn: _F, *, name: str | None = None) -> _F: ...
@overload
def function(fn: None = None, *, name: str | None = None) -> Callable[[_F], _F]: ...
def function(fn: _F | None = None, *, name: str | None = None) -> _F | Callable[[_F], _F]:
    """Serve this method as well, at /functions/NAME/predictions.

    NAME is the method's unless name is given. The method shares the object, and with it the
    weights, with `run`; it has inputs, an output and decorators of its own. It works with and
    without parentheses; `@batch` and the other decorators stand above it. Raises TypeError for
    a name that is not a str, or if it decorates no function, and ValueError for an empty name.

    >>> from cog import BaseRunner, function
    >>> class Runner(BaseRunner):
    ...     def run(self, text: str) -> str:
    ...         return text.upper()
    ...     @function
    ...     def count(self, text: str) -> int:
    ...         return len(text)
    >>> Runner().count(text="hello")
    5
    """
    if name is not None and not isinstance(name, str):
        raise TypeError(f"function: name must be a str, not {type(name).__name__}")
    if name == "":
        raise ValueError("function: name must not be empty")

    def marked(method: _F) -> _F:
        if hasattr(method, "options"):  # BatchedMethod
            raise TypeError("function: write @batch above @function, so that requests are batched")
        own = name if name is not None else getattr(method, "__name__", "")
        return mark(method, "function", FUNCTION_ATTRIBUTE, own)

    return marked if fn is None else marked(fn)


def example(**inputs: Any) -> Callable[[_F], _F]:
    """Give an example of the inputs of a run function.

    The server runs it after setup, so that the first client finds a model that is warm and
    known to work. Clients see it in the OpenAPI document and on the page. A file is a path
    in the model's folder.

    >>> from cog import BaseRunner, example
    >>> class Runner(BaseRunner):
    ...     @example(text="hello")
    ...     def run(self, text: str) -> str:
    ...         return text.upper()
    >>> Runner().run(text="hello")
    'HELLO'
    """
    return lambda function: mark(function, "example", "__cog_example__", inputs)


def tool(
    *,
    title: str | None = None,
    read_only: bool | None = None,
    destructive: bool | None = None,
    idempotent: bool | None = None,
    open_world: bool | None = None,
    task: bool | None = None,
) -> Callable[[_F], _F]:
    """Tell agents that call this function as a tool of MCP how it behaves.

    title is a name for people. A function that is read_only changes nothing outside; one that
    is destructive may delete or overwrite something; repeated calls of an idempotent one with
    the same inputs change nothing more; one that is open_world reaches the internet or other
    systems. Agents decide with it whether to ask a person first. What is not given is not told:
    agents then take the function as neither read_only nor idempotent, but as destructive and
    open_world. task means that a call takes long: a client that takes tasks is given one at
    once, and asks for the result later.

    Raises TypeError for a title that is not a str or another value that is not a bool, and
    ValueError for an empty title, and for a function that is both read_only and destructive.

    >>> from cog import BaseRunner, tool
    >>> class Runner(BaseRunner):
    ...     @tool(title="Shout", read_only=True, open_world=False)
    ...     def run(self, text: str) -> str:
    ...         return text.upper()
    >>> Runner().run(text="hello")
    'HELLO'
    """
    if title is not None and not isinstance(title, str):
        raise TypeError(f"tool: title must be a str, not {type(title).__name__}")
    if title is not None and not title.strip():
        raise ValueError("tool: title must not be empty")
    given = {
        "read_only": read_only,
        "destructive": destructive,
        "idempotent": idempotent,
        "open_world": open_world,
        "task": task,
    }
    for name, value in given.items():
        if value is not None and not isinstance(value, bool):
            raise TypeError(f"tool: {name} must be a bool, not {type(value).__name__}")
    if read_only and destructive:
        raise ValueError("tool: a function that is read_only cannot be destructive")
    told: dict[str, object] = {"title": title, **given}
    said = {name: value for name, value in told.items() if value is not None}
    return lambda function: mark(function, "tool", "__cog_tool__", said)
