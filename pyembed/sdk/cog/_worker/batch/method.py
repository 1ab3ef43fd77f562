"""The parameters of a batched method, and its calls outside of a server."""

from __future__ import annotations

import sys
from keyword import iskeyword

from ..errors import one_line
from ..schema.signature import Source
from ..schema.typeforms import annotations_of
from .rules import CallRules

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from ..._batch import BatchedMethod

_LISTS = ("list", "List", "Sequence", "MutableSequence", "Collection", "Iterable")
_CO_VARARGS, _CO_VARKEYWORDS, _CO_COROUTINE = 0x04, 0x08, 0x80
_INFINITE = float("inf")


class MethodPlan:
    """How a batched method is called.

    bind      takes a call's arguments; returns its elements of the lists, and its key
    batched   parameters that take a list, in order
    keys      the other parameters
    is_async  calling the function returns a coroutine
    """

    def __init__(self, method: BatchedMethod, root: str = "") -> None:
        self.method = method
        self.options = method.options
        source = Source(method.function, root)
        code: Any = source.code
        flags: int = source.flags
        self.name = source.qualname
        self.is_async = bool(flags & _CO_COROUTINE)
        if flags & (_CO_VARARGS | _CO_VARKEYWORDS) or code is None:
            raise source.error("", "@batch requires named parameters, not *args or **kwargs")
        positional = code.co_varnames[: code.co_argcount]
        if not positional:
            raise source.error("", "a method with @batch must take self first")
        names = [*positional[1:], *code.co_varnames[code.co_argcount :][: code.co_kwonlyargcount]]
        annotations = annotations_of(source.inner)
        self.batched = tuple(name for name in names if _is_list(annotations.get(name)))
        self.keys = tuple(name for name in names if name not in self.batched)
        if not self.batched:
            raise source.error(
                "",
                "@batch requires a list parameter, as in `text: list[str]`, "
                "with one element for each call",
            )
        self._check_cost(source)
        self.bind = _binder(source, positional[1:], names, self.batched, self.keys)

    def _check_cost(self, source: Source) -> None:
        """Raise LoadError if the cost function does not take the arguments that it gets."""
        cost: Any = self.options.cost
        code = getattr(cost, "__code__", None)
        if code is None:  # none, an attribute's name, or not a function in Python
            return
        count, most = len(self.batched), code.co_argcount
        most_of_all = count if code.co_flags & _CO_VARARGS else most
        if most - len(cost.__defaults__ or ()) <= count <= most_of_all:
            return
        raise source.error(
            "",
            f"@batch calls cost with {count} argument{'s' * (count > 1)}, one element of "
            f"{' and of '.join(self.batched)}, and this function takes {most}; write it as "
            f"`cost=lambda {', '.join(self.batched)}: ...`",
        )

    def cost(self, values: tuple[Any, ...]) -> float:
        """Return what a call adds to the cost of its batch."""
        cost = self.options.cost
        if cost is None:
            return 0
        what = f"the attribute {cost}" if isinstance(cost, str) else "the cost function"
        try:
            value = getattr(values[0], cost) if isinstance(cost, str) else cost(*values)
        except Exception as exc:
            raise TypeError(f"{self.name}: {what} gave no cost: {one_line(exc)}") from exc
        is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
        try:
            number = float(value) if is_number else -1.0
        except OverflowError:
            number = _INFINITE
        if not 0 <= number < _INFINITE:
            got = "a larger one" if number == _INFINITE else repr(value)
            raise TypeError(
                f"{self.name}: a cost must be a finite number of 0 or more, got {got} from {what}"
            )
        return number

    def arguments(self, calls: list[tuple[Any, ...]], key: tuple[Any, ...]) -> dict[str, Any]:
        """Return the keyword arguments of a batch."""
        arguments: dict[str, Any] = dict(zip(self.keys, key, strict=True))
        for index, name in enumerate(self.batched):
            arguments[name] = [values[index] for values in calls]
        return arguments


def _is_list(annotation: Any) -> bool:
    annotation = getattr(annotation, "__forward_arg__", annotation)
    if isinstance(annotation, str):
        text = annotation.strip().strip("'\"")
        if text.startswith(("Annotated[", "typing.Annotated[")):
            text = text.partition("[")[2].strip()
        return text.partition("[")[0].rpartition(".")[2].strip() in _LISTS
    origin = getattr(annotation, "__origin__", annotation)
    if origin is not annotation and getattr(annotation, "__metadata__", None) is not None:
        return _is_list(origin)
    return getattr(origin, "__name__", "") in _LISTS


def _binder(
    source: Source,
    positional: tuple[str, ...],
    names: list[str],
    batched: tuple[str, ...],
    keys: tuple[str, ...],
) -> Callable[..., tuple[tuple[Any, ...], tuple[Any, ...]]]:
    """Compile a function with the method's parameters: Python itself checks the arguments."""
    inner: Any = source.inner
    code = inner.__code__
    defaults = inner.__defaults__ or ()
    by_name = dict(zip(positional[len(positional) - len(defaults) :], defaults, strict=False))
    by_name.update(inner.__kwdefaults__ or {})
    namespace: dict[str, Any] = {f"_{name}": value for name, value in by_name.items()}
    spelled = [f"{name}=_{name}" if name in by_name else name for name in names]
    spelled.insert(len(positional), "*") if len(names) > len(positional) else None
    if code.co_posonlyargcount > 1:
        spelled.insert(code.co_posonlyargcount - 1, "/")
    name = inner.__name__ if inner.__name__.isidentifier() else "method"
    name = "method" if iskeyword(name) else name
    values, key = (f"({', '.join(some)}{',' * (len(some) == 1)})" for some in (batched, keys))
    text = f"def {name}({', '.join(spelled)}): return {values}, {key}"
    exec(compile(text, "<cog batch>", "exec"), namespace)  # noqa: S102, identifiers of the method
    bind: Callable[..., tuple[tuple[Any, ...], tuple[Any, ...]]] = namespace[name]
    return bind


class LocalMethod:
    """A batched method of one object outside of a server: each call is a batch of one.

    In a server it is what setup may have kept, and calls the method that forms batches. forked
    says that this is a child process, which forms none.
    """

    def __init__(self, plan: MethodPlan, instance: Any, forked: bool = False) -> None:
        self._plan = plan
        self._instance = instance
        self._forked = forked
        self.__wrapped__ = plan.method.function
        self.__name__: str = vars(plan.method)["__name__"]
        self.__doc__ = plan.method.__doc__

    def __call__(self, *args: Any, **named: Any) -> Any:
        """Return the result of one call, to be awaited in async code."""
        hub = self._plan.method.hub
        if hub is not None and not self._forked:
            return self._plan.method.__get__(self._instance)(*args, **named)
        values, key = self._plan.bind(*args, **named)
        self._plan.cost(values)
        if self._plan.is_async:
            return self._later(values, key)
        return self._later(values, key) if is_async_code() else self._now(values, key)

    def _call(self, values: tuple[Any, ...], key: tuple[Any, ...]) -> Any:
        return self._plan.method.function(self._instance, **self._plan.arguments([values], key))

    def _now(self, values: tuple[Any, ...], key: tuple[Any, ...]) -> Any:
        return sole_result(self._call(values, key))

    async def _later(self, values: tuple[Any, ...], key: tuple[Any, ...]) -> Any:
        result = self._call(values, key)
        return sole_result(await result if self._plan.is_async else result)


def sole_result(result: Any) -> Any:
    """Return the element of a batch of one, or raise it if it is an exception."""
    value = CallRules(isolate=False).elements(result, 1)[0]
    if issubclass(type(value), BaseException):
        raise value
    return value


def is_async_code() -> bool:
    """Return whether a task calls. In a notebook a cell is not async code, although a loop runs."""
    asyncio = sys.modules.get("asyncio")
    if asyncio is None or asyncio._get_running_loop() is None:
        return False
    frame = sys._getframe(2)
    while frame is not None:
        if frame.f_code.co_flags & (_CO_COROUTINE | 0x200):
            return not frame.f_globals.get("__name__", "").startswith("IPython")
        frame = frame.f_back  # type: ignore[assignment]
    return False
