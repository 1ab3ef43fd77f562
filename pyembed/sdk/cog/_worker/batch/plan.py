"""The plan of a batched function: the inputs and the output of one prediction."""

from __future__ import annotations

from ..schema.annotations import _ARRAYS, Reader
from ..schema.parameters import Parameter, read_declaration, read_parameters
from ..schema.signature import (
    Signature,
    Source,
    read_field,
    read_output,
    read_signature,
)
from ..schema.typeforms import SEQUENCES, arguments, origin_of, qualified, show
from ..schema.types import Array, Kind, Stream, Unsupported, Untyped

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from ..._batch import BatchOptions

_RESULTS = SEQUENCES | {"tuple", "collections.abc.Collection"}
_CO_GENERATOR, _CO_COROUTINE, _CO_ASYNC_GENERATOR = 0x20, 0x80, 0x200


class Plan:
    """How a batched function is called.

    signature    inputs and output of one prediction, as clients see them
    batched      parameters that take a list, with one element for each prediction
    keys         the other parameters, equal in all predictions of a batch
    preprocess   called with the inputs of a prediction, or None; the function
                 then takes the list of its results as its parameter batched[0]
    postprocess  called with a prediction's element of the result, or None
    """

    def __init__(
        self,
        options: BatchOptions,
        signature: Signature,
        batched: tuple[str, ...],
        keys: tuple[str, ...],
        preprocess: Callable[..., Any] | None,
        postprocess: Callable[..., Any] | None,
    ) -> None:
        self.options = options
        self.signature = signature
        self.batched = batched
        self.keys = keys
        self.preprocess = preprocess
        self.postprocess = postprocess

    def summary(self) -> dict[str, Any]:
        """Return what the front needs to form batches."""
        return {
            "max_size": self.options.max_size,
            "max_wait_ms": self.options.max_wait_ms,
            "isolate": self.options.isolate,
            "keys": [f.name for f in self.signature.inputs if f.parameter in self.keys],
            "prepare": self.preprocess is not None,
        }

    def __repr__(self) -> str:
        return f"<Plan {self.signature.name}>"


def read_plan(
    function: Callable[..., Any],
    options: BatchOptions,
    preprocess: Callable[..., Any] | None = None,
    postprocess: Callable[..., Any] | None = None,
    root: str = "",
) -> Plan:
    """Return the plan of a function with @batch, checked; raise LoadError if it has faults."""
    source = Source(function, root)
    if source.flags & (_CO_GENERATOR | _CO_ASYNC_GENERATOR):
        raise source.error("", "it is a generator; a function with @batch must return a list")
    if getattr(function, "__cog_streaming__", getattr(source.inner, "__cog_streaming__", False)):
        raise source.error("", "@batch and @streaming cannot be combined; remove one of them")
    parameters, _, returns = read_parameters(source)
    signature = Signature(source, [], Untyped("anything"))
    if preprocess is None:
        batched, keys = _inputs(signature, parameters, source)
    else:
        _refuse_async(preprocess, "preprocess", root)
        batched, keys = (_only_parameter(parameters, source),), ()
        prepared = read_signature(preprocess, root)
        signature.inputs, signature.open = prepared.inputs, prepared.open
    if postprocess is None:
        signature.output = _element(returns, source)
    else:
        _refuse_async(postprocess, "postprocess", root)
        signature.output = _result_of(postprocess, root)
    return Plan(options, signature, batched, keys, preprocess, postprocess)


def _refuse_async(function: Callable[..., Any], name: str, root: str) -> None:
    source = Source(function, root, name)
    if source.flags & (_CO_COROUTINE | _CO_ASYNC_GENERATOR | _CO_GENERATOR):
        raise source.error("", f"{name} runs in a thread; make it a plain `def` that returns")


def _inputs(
    signature: Signature, parameters: list[Parameter], source: Source
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Read the inputs of one prediction; return which are batched and which are keys."""
    from ..schema import constraints

    batched, keys = [], []
    for order, parameter in enumerate(parameters):
        name = parameter.name
        item = _item_of(parameter.annotation, source, name) if parameter.annotated else None
        if item is None:
            keys.append(name)
        else:
            batched.append(name)
            parameter = _one(parameter, item[0], source)
        field = read_field(parameter, order, source)
        problem = constraints.problem(field)
        if item is not None and not field.default_fits and not problem:
            # Cog has no batches, so there is no model to stay compatible with.
            fault = constraints.mismatch(field.kind, field.default)
            problem = f"the default {fault}; it must be the default of one element"
        if item is None and field.kind.contains(Array):
            problem = (
                f"an array cannot be a key; take one for each prediction, as in"
                f" `list[{field.kind.name}]`"
            )
        if problem:
            raise source.error(name, problem)
        signature.inputs.append(field)
    if not batched:
        raise source.error(
            "",
            "@batch requires a list parameter, as in `text: list[str]`, "
            "with one element for each prediction",
        )
    return tuple(batched), tuple(keys)


def _one(parameter: Parameter, item: object, source: Source) -> Parameter:
    """Return a batched parameter as one prediction sees it.

    Its default is that of one element. The call gets a list, so it cannot apply it.
    """
    info = read_declaration(parameter, Reader(source.names, is_input=True)).info
    return Parameter(parameter.name, True, item, parameter.declared, info)


def _item_of(annotation: object, source: Source, name: str) -> tuple[object] | None:
    """Return T of list[T], None for any other type."""
    origin, args = _form(annotation, source, name)
    if origin not in SEQUENCES:
        return None
    if not args:
        raise source.error(
            name, f"{show(annotation)} has no element type; write `list[str]` or similar"
        )
    return (args[0],)


def _form(annotation: object, source: Source, name: str) -> tuple[str, tuple[object, ...]]:
    """Return the qualified name of an annotation's class, and its arguments."""
    try:
        resolved = Reader(source.names, is_input=False).resolve(annotation)
    except Unsupported as exc:
        raise source.error(name, str(exc)) from exc
    origin = origin_of(resolved) or resolved
    args = arguments(resolved)
    args = tuple(arg for arg in args if type(arg).__name__ != "TypeVar")
    return (qualified(origin) if isinstance(origin, type) else ""), args


def _only_parameter(parameters: list[Parameter], source: Source) -> str:
    needed = [p.name for p in parameters if not p.declared]
    if len(needed) > 1 or not parameters:
        raise source.error(
            "",
            "with a preprocess, it must take one parameter: the list of what preprocess returned",
        )
    return needed[0] if needed else parameters[0].name


def _element(returns: tuple[bool, object], source: Source) -> Kind:
    """Return the output of one prediction: an element of what the function returns."""
    annotated, annotation = returns
    if not annotated:
        return Untyped("anything")
    origin, args = _form(annotation, source, "return")
    if origin in _ARRAYS or (origin in _RESULTS and not args):
        return Untyped("anything")
    if origin not in _RESULTS or (origin == "tuple" and args[1:] != (...,)):
        what = show(annotation)
        raise source.error(
            "return",
            f"{what} is a single result; a function with @batch returns one for each prediction, "
            f"as in `list[{what}]`",
        )
    return _single(read_output((True, args[0]), source), source)


def _result_of(postprocess: Callable[..., Any], root: str) -> Kind:
    """Return the output of postprocess, which takes an element of the function's result."""
    source = Source(postprocess, root, "postprocess")
    parameters, _, returns = read_parameters(source)
    if not parameters or any(not p.declared for p in parameters[1:]):
        raise source.error("", "it must take one parameter: an element of the function's result")
    return _single(read_output(returns, source), source)


def _single(kind: Kind, source: Source) -> Kind:
    if isinstance(kind, Stream):
        raise source.error("return", f"{kind.name}: a batched prediction cannot return an iterator")
    return kind
