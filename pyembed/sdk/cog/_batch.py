"""The decorator @batch and its options."""

from __future__ import annotations

from ._decorators import flags_of, mark

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

BATCH_ATTRIBUTE = "__cog_batch__"

LARGEST_SIZE = 4096  # the front's runtime/batch has the same
MOST_WORKERS = 64

_CO_GENERATOR, _CO_ASYNC_GENERATOR = 0x20, 0x200


class BatchOptions:
    """The options of `batch`.

    max_size     the largest batch
    max_wait_ms  how long an idle worker may wait for a larger batch, in
                 milliseconds; None is adaptive
    isolate      whether a batch that raises runs again in halves, so that
                 only the predictions at fault fail
    workers      number of threads that run preprocess and postprocess
    concurrent   of a method: how many batches run at once
    max_cost     of a method: the largest sum of costs in a batch, or None
    cost         the attribute of an item that is its cost, or a function of one
                 item of each list parameter
    """

    __slots__ = ("concurrent", "cost", "isolate", "max_cost", "max_size", "max_wait_ms", "workers")

    def __init__(
        self,
        max_size: int,
        max_wait_ms: float | None = None,
        isolate: bool = True,
        workers: int = 2,
        concurrent: int = 1,
        max_cost: float | None = None,
        cost: str | Callable[[Any], float] | Callable[[Any, Any], float] | None = None,
    ) -> None:
        _check_int("max_size", max_size, LARGEST_SIZE)
        _check_int("workers", workers, MOST_WORKERS)
        _check_int("concurrent", concurrent, MOST_WORKERS)
        _check_cost(max_cost, cost)
        if max_wait_ms is not None:
            if isinstance(max_wait_ms, bool) or not isinstance(max_wait_ms, (int, float)):
                raise TypeError(
                    f"batch: max_wait_ms must be a number or None, not {type(max_wait_ms).__name__}"
                )
            if not 0 <= max_wait_ms < float("inf"):
                raise ValueError(f"batch: max_wait_ms must be 0 or more, not {max_wait_ms}")
        if not isinstance(isolate, bool):
            raise TypeError(f"batch: isolate must be a bool, not {type(isolate).__name__}")
        self.max_size = max_size
        self.max_wait_ms = max_wait_ms
        self.isolate = isolate
        self.workers = workers
        self.concurrent = concurrent
        self.max_cost = max_cost
        self.cost = cost

    def __repr__(self) -> str:
        options = ", ".join(f"{name}={getattr(self, name)!r}" for name in self.__slots__)
        return f"BatchOptions({options})"


def _check_int(name: str, value: object, most: int) -> None:
    if isinstance(value, bool) or not isinstance(value, int):
        raise TypeError(f"batch: {name} must be an int, not {type(value).__name__}")
    if not 1 <= value <= most:
        raise ValueError(f"batch: {name} must be between 1 and {most}, not {value}")


def _check_cost(max_cost: object, cost: object) -> None:
    if (max_cost is None) != (cost is None):
        given, other = ("cost", "max_cost") if max_cost is None else ("max_cost", "cost")
        raise TypeError(f'batch: {given} requires {other}, as in max_cost=4096, cost="tokens"')
    if max_cost is None:
        return
    if isinstance(max_cost, bool) or not isinstance(max_cost, (int, float)):
        raise TypeError(f"batch: max_cost must be a number, not {type(max_cost).__name__}")
    if not 0 < max_cost < float("inf"):
        raise ValueError(f"batch: max_cost must be above 0, not {max_cost}")
    if not callable(cost) and not (isinstance(cost, str) and cost.isidentifier()):
        raise TypeError(f"batch: cost must be the name of an attribute or a function, not {cost!r}")


class BatchedMethod:
    """A method with @batch that is not the model's own function.

    Called with one item, it returns that item's result.
    """

    used = False  # there is one in this process
    hub: Any = None  # forms the batches of a worker; None: each call is a batch of one

    def __init__(self, function: Callable[..., Any], options: BatchOptions) -> None:
        for name in ("__module__", "__name__", "__qualname__", "__doc__"):
            setattr(self, name, getattr(function, name, None))
        vars(self).update(vars(function))
        self.__wrapped__ = self.function = function
        self.options = options
        self._name = ""
        self._plan: Any = None
        BatchedMethod.used = True

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        if instance is None:
            return self
        hub = BatchedMethod.hub
        if hub is None:
            from ._worker.batch.method import LocalMethod

            return LocalMethod(self.plan(), instance)
        return hub.bound(self, instance, self._name)

    def __call__(self, instance: Any, /, *args: Any, **named: Any) -> Any:
        """Call the method of an object, as a decorator above this one does."""
        return self.__get__(instance)(*args, **named)

    def plan(self, root: str = "") -> Any:
        """Return how the method is called; raise LoadError if it has faults."""
        if self._plan is None:
            from ._worker.batch.method import MethodPlan

            self._plan = MethodPlan(self, root)
        return self._plan


def check_methods(instance: Any, plan: Any, root: str) -> None:
    """Raise LoadError if a batched method of a model has faults. plan is that of its function."""
    for owner in type(instance).__mro__ if instance is not None else ():
        for method in vars(owner).values():
            if type(method) is staticmethod or type(method) is classmethod:
                _refuse_unbound(method.__func__, root)
            if type(method) is not BatchedMethod:  # isinstance asks what is not known for its class
                continue
            name = method.plan(root).name
            if plan is not None:
                from .errors import LoadError

                raise LoadError(
                    f"{plan.signature.file}:{plan.signature.line}: {plan.signature.name} and "
                    f"{name} both have @batch, and {plan.signature.name} gets whole batches "
                    "already; keep one of the two"
                )


def _refuse_unbound(method: Any, root: str) -> None:
    """Raise LoadError if what staticmethod or classmethod wraps has @batch."""
    if type(method) is BatchedMethod:
        from ._worker.schema.signature import Source

        raise Source(method.function, root).error(
            "",
            "@batch forms the batches of one object, so a method with it takes self; "
            "remove @staticmethod or @classmethod",
        )


# Names of the functions that the server calls itself.
_OWN = ("run", "predict", "train")


def _is_method(function: object) -> bool:
    parts = str(getattr(function, "__qualname__", "")).split(".")
    served = parts[-1] in _OWN or hasattr(function, "__cog_function__")
    return len(parts) > 1 and parts[-2] != "<locals>" and not served


def batch(
    *,
    max_size: int,
    max_wait_ms: float | None = None,
    isolate: bool | None = None,
    workers: int = 2,
    concurrent: int = 1,
    max_cost: float | None = None,
    cost: str | Callable[[Any], float] | Callable[[Any, Any], float] | None = None,
) -> Callable[[Callable[..., Any]], Any]:
    """Run up to max_size predictions, or calls of a method, as a batch, in one call.

    A parameter annotated `list[T]` is batched: each prediction brings one T.
    All other parameters are equal in a batch. The function returns one result
    for each prediction, in the same order; an element that is an exception
    fails that prediction alone. isolate runs a batch that raised again in halves: by
    default that of `run`, not of other methods, which may have changed their items.

    On another method than `run` and those with @function, each call brings one T and returns
    its result: awaited in async code, blocking in threads. Predictions join and leave between
    batches. Up to concurrent batches run at once. The sum of the items' cost in a batch is at
    most max_cost; an item above that runs alone. cost names an attribute of the items of the
    first list parameter, or is a function of one item of each, without self: a finite number of
    0 or more.

    Type checkers see Any for what is batched. The result of a call depends on who calls: an
    awaitable in async code, a value on threads. And no type turns `list[T]` into T among named
    parameters, or tells `run`, which a test calls with lists, from other methods.

    Raises TypeError and ValueError for invalid options, and TypeError for a
    generator, whose output belongs to one prediction.

    >>> from cog import BaseRunner, batch
    >>> class Runner(BaseRunner):
    ...     @batch(max_size=32)
    ...     def run(self, text: list[str], upper: bool = True) -> list[str]:
    ...         return [t.upper() if upper else t for t in text]
    >>> Runner().run(["a", "b"])
    ['A', 'B']
    >>> class Decoder(BaseRunner):
    ...     @batch(max_size=32)
    ...     def double(self, n: list[int]) -> list[int]:
    ...         return [2 * each for each in n]
    ...     def run(self, n: int) -> int:
    ...         return self.double(n)
    >>> Decoder().run(21)
    42
    """

    def marked(function: Callable[..., Any]) -> Any:
        name = getattr(function, "__qualname__", "the function")
        if flags_of(function) & (_CO_GENERATOR | _CO_ASYNC_GENERATOR):
            raise TypeError(
                f"batch: {name} is a generator; a batched function must return a list, "
                "so remove @batch or the yield"
            )
        is_method = _is_method(function)
        again = not is_method if isolate is None else isolate
        options = BatchOptions(max_size, max_wait_ms, again, *shared)
        if is_method:
            return BatchedMethod(function, options)
        if concurrent != 1 or max_cost is not None:
            raise TypeError(
                f"batch: concurrent and max_cost are for methods that {name} calls, not for {name}"
            )
        return mark(function, "batch", BATCH_ATTRIBUTE, options)

    shared = (workers, concurrent, max_cost, cost)
    BatchOptions(max_size, max_wait_ms, True if isolate is None else isolate, *shared)  # checks
    return marked
