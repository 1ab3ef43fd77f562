"""Items, which are single predictions, and the batches that the front forms of them."""

from __future__ import annotations

import _px

from ...errors import InputError
from .. import errors
from ..logs.streams import ERROR, Record
from ..scope import Scope
from ..serve.sync import fail, keep
from ..serve.wire import CANCELED, EVENTS, FAILED, FUNCTION, METRIC, STARTED, SUCCEEDED
from ..values.coerce import default_of, make_prepare
from ..values.encode import encode
from .rules import CallRules

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from ..model.load import Predictor
    from .plan import Plan


class Item:
    """One prediction, from the front's request to its answer."""

    # Defaults on the class: making an item sets what every one has.
    inputs: Any = None  # what it brings to the function
    value: Any = None  # its element of the result
    error: BaseException | None = None  # why it fails, and the others do not
    text: str | dict[str, Any] | None = None  # why it fails with others
    function = ""  # the name of its function: "" is run
    dropped = False  # it was canceled: its result is not wanted
    unprepared = False  # its preprocess has not ended
    batch: Batch | None = None
    scope: Scope | None = None  # of its preprocess and postprocess
    encoder: Any = staticmethod(encode)

    def __init__(
        self, slot: int, id: int, flags: int, message: Any, error: BaseException | None
    ) -> None:
        self.slot = slot
        self.id = id
        self.observed = flags & EVENTS
        self.message = message
        if flags & FUNCTION and message:
            self.function = message["function"]
        if error is not None:
            self.error = error

    def fail(self, error: BaseException) -> str | dict[str, Any]:
        """Write an exception's traceback to this item's log, and return what the front is told."""
        if isinstance(error, InputError):
            return errors.answer_of(error)
        try:
            record = Record.of(errors.traceback_text(error), ERROR)
            _px.log(self.slot, self.id, "stderr", record, record.about)
        except BaseException:
            pass  # the answer matters more
        return errors.answer_of(error)

    def is_fine(self) -> bool:
        """Return whether it has an element of the result, and that is wanted."""
        return not self.dropped and self.error is None and self.text is None

    def is_usual(self) -> bool:
        """Return whether its answer is its element of the result, and the batch's metrics."""
        return self.is_fine() and self.scope is None and self.encoder is encode

    def answer(self, nanos: int, metrics: dict[str, Any] | None) -> None:
        """Queue the answer that the item's state calls for."""
        kind, value = SUCCEEDED, self.value
        if self.scope is not None:
            metrics = {**(metrics or {}), **self.scope.collected()}
        if self.dropped:
            kind, value = CANCELED, None
        elif self.error is not None:
            kind, value = FAILED, self.fail(self.error)
        elif self.text is not None:
            kind, value = FAILED, self.text
        _px.reply_item(self.slot, self.id, kind, value, nanos, metrics, self.encoder, self.fail)

    def cancel(self) -> None:
        """Queue the answer of an item that does not run."""
        self.dropped = True
        self.answer(0, None)

    def emit_metric(self, name: str, value: Any, mode: str) -> None:
        """Send a metric to the front."""
        try:
            metric = {"name": name, "value": value, "mode": mode}
            _px.emit_item(self.slot, self.id, METRIC, metric)
        except ValueError:
            pass  # a single surrogate: the answer leaves the metric out as well


class Batch:
    """A batch on its way through the function."""

    def __init__(self, id: int, items: list[Item]) -> None:
        self.id = id
        self.items = items
        # An item that could not be read has no name.
        self.function = next((item.function for item in items if item.function), "")
        self.scope = Scope()
        self.unprepared = 0  # of its items
        self.runs = 0
        self.size = 0
        self.failed = False
        self.nanos = 0

    def begin(self, items: list[Item]) -> None:
        """Note that the function runs now, and send the events that clients observe."""
        self.size = len(items)
        observers = [item for item in items if item.observed]
        if not observers:
            return
        _px.watch(self.id)
        for item in observers:
            if item.scope is None:  # else it started with its preprocess
                _px.emit_item(item.slot, item.id, STARTED, None)

        def hook(name: str, value: Any, mode: str) -> None:
            for item in observers:
                item.emit_metric(name, value, mode)

        self.scope.hook = hook

    def take_items(self) -> list[Item]:
        """Return the items and drop them here: item and batch must not refer to each other."""
        items, self.items = self.items, []
        self.scope.hook = None
        return items

    def metrics(self) -> dict[str, Any]:
        """Return the metrics that all its items have."""
        return {"batch_size": self.size, **self.scope.collected()}


class Function:
    """The batched function: what goes in, what comes out, and what an error means."""

    def __init__(self, plan: Plan, call: Callable[..., Any], fatal: tuple[str, ...]) -> None:
        self.call = call
        self._plan = plan
        self.prepare = make_prepare(plan.signature)
        self.keys = tuple(
            (field.parameter, default_of(field))
            for field in plan.signature.inputs
            if field.parameter in plan.keys
        )
        self.batched = plan.batched
        self._needed = frozenset(plan.batched)
        self._rules = CallRules(plan.options.isolate, fatal, to_cpu=plan.postprocess is None)

    def read(self, item: Item) -> None:
        """Set the inputs of an item from its request, or its error."""
        try:
            if item.error is not None or item.inputs is not None:
                return
            message = item.message
            if "files" in message:
                item.encoder = keep(message["files"])
            inputs = message["input"]
            if self.prepare is not None:
                inputs = self.prepare(inputs)
            item.inputs = inputs
        except BaseException as error:
            item.error = error

    def runnable(self, items: list[Item]) -> list[Item]:
        """Return the items that have valid inputs and are not dropped."""
        if self._plan.preprocess is None:
            needed = self._needed
            for item in items:
                self.read(item)
                if item.error is None and not needed <= item.inputs.keys():
                    item.error = TypeError(f"missing input: {needed - item.inputs.keys()}")
        return [item for item in items if item.error is None and not item.dropped]

    def parts(self, items: list[Item]) -> list[list[Item]]:
        """Return the items in parts with equal keys.

        There is one part, unless a reload of the model changed the keys. An item whose keys cannot
        be compared is in none: it fails.
        """
        keys = self.keys
        if not keys:
            return [items]
        parts: list[list[Item]] = []
        for item in items:
            own = item.inputs
            try:
                for part in reversed(parts):
                    first = part[0].inputs
                    if all(first.get(name, other) == own.get(name, other) for name, other in keys):
                        part.append(item)
                        break
                else:
                    parts.append([item])
            except BaseException as error:
                item.error = error
        parts.reverse()
        return parts

    def arguments(self, part: list[Item]) -> dict[str, Any]:
        """Return the keyword arguments of one call."""
        if self._plan.preprocess is not None:
            return {self.batched[0]: [item.inputs for item in part]}
        first = part[0].inputs
        arguments = {name: first[name] for name in self._plan.keys if name in first}
        for name in self.batched:
            arguments[name] = [item.inputs[name] for item in part]
        return arguments

    def take(self, part: list[Item], result: Any) -> None:
        """Give each item its element of a result; raise OutputError if their number differs."""
        for item, value in zip(part, self._rules.elements(result, len(part)), strict=True):
            if issubclass(type(value), BaseException):
                item.error = value
            else:
                item.value = value

    def refuse(
        self, batch: Batch, part: list[Item], remaining: list[list[Item]], error: BaseException
    ) -> list[list[Item]]:
        """Handle a failed run of a part; return the parts to run, the last first."""
        batch.failed = True
        halves = self._rules.halves(part, error)
        if halves is not None:
            return [*remaining, *halves]
        if remaining and self._rules.is_fatal(error):  # this worker must not run the others
            part = [*part, *(item for other in remaining for item in other)]
            remaining = []
        if len(part) == 1 and len(batch.items) > 1:
            part[0].error = error
        else:
            fail_together(part, error)
        return remaining


def batched_of(
    functions: tuple[Predictor | None, ...], fatal: tuple[str, ...]
) -> dict[str, Function]:
    """Return the functions with @batch by their names."""
    return {
        each.name: Function(each.plan, each.function, fatal)
        for each in functions
        if each is not None and each.plan is not None
    }


def fail_together(part: list[Item], error: BaseException) -> None:
    """Fail all items with one error, whose traceback goes to the log once."""
    text = fail(error)
    for item in part:
        item.text = text
