"""The running prediction as its model sees it: metrics and context."""

from __future__ import annotations

import sys
from _contextvars import ContextVar, copy_context

from .schema.typeforms import DICTS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

_MODES = {
    "replace": "replace",
    None: "replace",
    "incr": "increment",
    "increment": "increment",
    "append": "append",
}
_KINDS = (bool, int, float, str, list, dict)
_NAME_LIMIT = 128
_SEGMENT_LIMIT = 4


class Scope:
    """One prediction's metrics and context.

    `hook`, if set, is called after each change with the metric's name, its
    value (None: deleted) and the mode "replace", "increment" or "append".
    """

    # Defaults on the class: each prediction makes a scope, which sets one attribute.
    _values: dict[str, Any] | None = None
    _kinds: dict[str, type] | None = None
    _dotted = False
    # For each batched method: the number of its calls, and the sum of their batches' sizes.
    _batches: dict[str, list[int]] | None = None
    hook: Callable[[str, Any, str], None] | None = None
    # The slot and id, if `owned` is set; None: it is what the main thread runs.
    owner: tuple[int, int] | None = None
    owned = False  # the model may call others, or has a streamed input
    calls = ""  # the folder for files of calls of other models; "": the server has none

    def __init__(self, context: dict[str, str] | None = None) -> None:
        self._context = context

    @property
    def context(self) -> dict[str, str]:
        """What the client sent as the prediction's context."""
        if self._context is None:
            self._context = {}
        return self._context

    @property
    def metrics(self) -> MetricRecorder:
        """The prediction's metrics, to be set and deleted by item."""
        return MetricRecorder(self)

    def record_metric(self, key: str, value: Any, mode: str | None = "replace") -> None:
        """Record a metric; see `cog.BaseRunner.record_metric` for the rules."""
        if value is None:
            self.delete_metric(key)
            return
        if not isinstance(key, str):
            raise _no_text("key", key)
        if not isinstance(mode, (str, type(None))):
            raise _no_text("mode", mode)
        if mode not in _MODES:
            raise TypeError(
                f"Invalid metric mode: '{mode}'. Expected 'replace', 'incr', or 'append'."
            )
        mode = _MODES[mode]
        if self._values is None or key not in self._values:
            _check_reserved(key)
            _check_name(key)
        kind = _kind_of(value)
        value = _snapshot(value)  # None: not a finite number
        self._apply(key, value, kind, mode)
        if self.hook is not None:
            self.hook(key, value, mode)

    def _apply(self, key: str, value: Any, kind: type, mode: str) -> None:
        if self._values is None or self._kinds is None:
            self._values, self._kinds = {}, {}
        values, kinds = self._values, self._kinds
        known = kinds.get(key)
        if known is not None and known is not kind:
            raise TypeError(
                f"Metric '{key}' has type {known.__name__}, cannot set to {kind.__name__} "
                "without deleting first"
            )
        if mode == "increment":
            if kind is not int and kind is not float:
                raise TypeError(f"Increment mode requires int or float, got {kind.__name__}")
            if isinstance(values.get(key), list):
                raise TypeError(f"Metric '{key}' holds a list, to which increment mode cannot add")
            before = values.get(key, 0)
            value = before if before is None or value is None else _finite(before + value)
        elif mode == "append":
            # As list.append: a list is one item.
            before = values.get(key, [])
            value = [*(before if isinstance(before, list) else [before]), value]
        elif value is None:
            values.pop(key, None)
            kinds[key] = kind
            return
        if "." in key:
            self._dotted = True
        if self._dotted:
            # The later one of "a" and "a.b" wins, so order matters.
            values.pop(key, None)
        values[key] = value
        kinds[key] = kind

    def delete_metric(self, key: str) -> None:
        """Delete a metric, its type, and the metrics below its name."""
        if not isinstance(key, str):
            raise _no_text("key", key)
        _check_name(key)
        if self._values is None or self._kinds is None:
            return
        below = key + "."
        deleted = [name for name in self._kinds if name == key or name.startswith(below)]
        for name in deleted:
            self._values.pop(name, None)
            del self._kinds[name]
        if deleted and self.hook is not None:
            self.hook(key, None, "replace")

    def collected(self) -> dict[str, Any]:
        """Return the metrics for the answer, nested by the dots in their names."""
        if not self._batches:
            return self._recorded()
        batches = {
            method: {"calls": calls, "batch_size": round(sizes / calls, 2)}
            for method, (calls, sizes) in list(self._batches.items())
        }
        return {"method_batches": batches, **self._recorded()}

    def expect_batches(self) -> None:
        """Begin to count the batches of methods. Called in the prediction's own code."""
        self._batches = {}
        if self._values is None:
            self._values = {}  # so that the answer asks for what was collected

    def count_batch(self, method: str, size: int) -> None:
        """Count the batch of a call. Called where batches are formed."""
        if self._batches is not None:
            count = self._batches.setdefault(method, [0, 0])
            count[0] += 1
            count[1] += size

    def _recorded(self) -> dict[str, Any]:
        if not self._values:
            return {}
        if not self._dotted:
            return dict(self._values)
        result: dict[str, Any] = {}
        for key, value in self._values.items():
            *parents, last = key.split(".")
            level = result
            for name in parents:
                inner = level.get(name)
                # A copy, because the dict may be a recorded value.
                level[name] = inner = dict(inner) if isinstance(inner, dict) else {}
                level = inner
            level[last] = value
        return result

    def __repr__(self) -> str:
        return f"Scope({self.metrics!r})"


class MetricRecorder:
    """The metrics of one scope.

    >>> scope = Scope()
    >>> scope.metrics["tokens"] = 3
    >>> scope.metrics.record("tokens", 4, "incr")
    >>> scope.collected()
    {'tokens': 7}
    """

    __slots__ = ("_scope",)

    def __init__(self, scope: Scope) -> None:
        self._scope = scope

    def record(self, key: str, value: Any, mode: str | None = "replace") -> None:
        """Record a metric, as `Scope.record_metric` does."""
        self._scope.record_metric(key, value, mode)

    def delete(self, key: str) -> None:
        """Delete a metric."""
        self._scope.delete_metric(key)

    def __setitem__(self, key: str, value: Any) -> None:
        self._scope.record_metric(key, value)

    def __delitem__(self, key: str) -> None:
        self._scope.delete_metric(key)

    def __repr__(self) -> str:
        if isinstance(self._scope, _Inactive):
            return "MetricRecorder(inactive)"
        return f"MetricRecorder({self._scope.collected()!r})"


class _Inactive(Scope):
    """The scope outside of predictions: it accepts everything and stores nothing."""

    @property
    def context(self) -> dict[str, str]:
        return {}

    def record_metric(self, key: str, value: Any, mode: str | None = "replace") -> None:
        pass

    def delete_metric(self, key: str) -> None:
        pass

    def expect_batches(self) -> None:
        pass


INACTIVE = _Inactive()
current: ContextVar[Scope] = ContextVar("cog_scope", default=INACTIVE)

enter = current.set  # for the rest of a task's context


def within(scope: Scope, function: Callable[..., Any], *args: Any, **named: Any) -> Any:
    """Call a function in a scope and a copy of the context: variables that it sets are dropped."""
    context = copy_context()
    context.run(enter, scope)
    return context.run(function, *args, **named)


def current_scope() -> Scope:
    """Return the scope of the running prediction.

    Tasks and threads inherit it from their creator. If predictions run one at a
    time, other threads get that of the running prediction. Outside of a
    prediction its metrics are dropped and its context is empty.

    >>> from cog import current_scope
    >>> current_scope().record_metric("tokens", 3)
    >>> current_scope().context
    {}
    """
    scope = current.get()
    return _of_thread() if scope is INACTIVE else scope


def _of_thread() -> Scope:
    """Return the scope of a synchronous prediction, for a thread without one in its context."""
    worker = sys.modules.get("_px")
    scope: Scope | None = worker.scope() if worker is not None else None
    return INACTIVE if scope is None else scope


# The messages are those of Cog's own runtime, which clients and tests know.


def _no_text(argument: str, value: Any) -> TypeError:
    return TypeError(
        f"argument '{argument}': '{type(value).__name__}' object cannot be cast as 'str'"
    )


def _check_reserved(name: str) -> None:
    if name == "predict_time":
        raise ValueError("'predict_time' is reserved by the runtime")
    if name.startswith("cog."):
        raise ValueError("the 'cog.' prefix is reserved for system metrics")


def _check_name(name: str) -> None:
    """Raise unless name is 1 to 4 dotted segments of the allowed form."""
    if not name:
        raise ValueError("metric name must not be empty")
    size = len(name.encode(errors="surrogatepass"))
    if size > _NAME_LIMIT:
        raise ValueError(
            f"metric name must be {_NAME_LIMIT} characters or fewer (got {size} characters)"
        )
    segments = name.split(".")
    if len(segments) > _SEGMENT_LIMIT:
        raise ValueError(
            f"metric name must have at most {_SEGMENT_LIMIT} dot-separated segments "
            f"(got {len(segments)})"
        )
    for index, segment in enumerate(segments):
        if segment:
            problem = _segment_problem(segment)
            if problem:
                raise ValueError(f"metric name segment '{segment}' {problem}")
        elif index == 0:
            raise ValueError("metric name must not start with a dot")
        elif index == len(segments) - 1:
            raise ValueError("metric name must not end with a dot")
        else:
            raise ValueError("metric name must not contain empty segments (consecutive dots)")


def _segment_problem(segment: str) -> str:
    if not segment[0].isalpha() or not segment[0].isascii():
        return "must start with a letter"
    before = ""
    for char in segment:
        if char == before == "_":
            return "must not contain consecutive underscores"
        if not (char.isascii() and (char.isalnum() or char == "_")):
            return f"contains invalid character '{char}'"
        before = char
    return "must end with a letter or digit" if before == "_" else ""


def _kind_of(value: Any) -> type:
    kind = type(value)
    if kind in _KINDS:
        return kind
    for kind in _KINDS:
        if isinstance(value, kind):
            return kind
    if isinstance(value, DICTS):
        return dict
    raise TypeError(
        f"Unsupported metric value type: {type(value).__name__}. "
        "Expected bool, int, float, str, list, or dict."
    )


def _snapshot(value: Any) -> Any:
    """Return a value as plain JSON data, copied so that the model cannot change it."""
    if value is None or type(value) in (bool, int, str):
        return value
    if isinstance(value, str):
        return str.__str__(value)
    if isinstance(value, int):
        return int(value)
    if isinstance(value, float):
        return _finite(float(value))
    if isinstance(value, list):
        return [_snapshot(item) for item in value]
    if isinstance(value, DICTS):
        for key in value:
            if not isinstance(key, str):
                raise TypeError(f"'{type(key).__name__}' object cannot be cast as 'str'")
        return {str.__str__(key): _snapshot(item) for key, item in value.items()}
    raise TypeError(f"Cannot convert {type(value).__name__} to JSON metric value")


def _finite(value: Any) -> Any:
    """Return a number, or None for NaN and infinities, which JSON does not have."""
    return None if isinstance(value, float) and not (-_HUGE <= value <= _HUGE) else value


_HUGE = 1.7976931348623157e308  # the largest double
