"""A model's `Predictor` from its source, without foreign imports.

`module` reads the modules of the model. The result is the `Predictor` that an import gives, so
the same code reads signatures and writes schemas. If the source alone is not enough, a `Refusal`
says why.
"""

from __future__ import annotations

import os

from ..._batch import BATCH_ATTRIBUTE
from ..model.functions import bound_methods
from ..model.load import DEFAULT_NAMES, LoadError, Predictor, find_function, pick
from ..model.problems import signature_problems
from ..schema.signature import Source, unwrap
from ..schema.typeforms import Names, annotations_of
from ..schema.types import Unsupported
from .module import STORES, StaticReader, is_taken
from .plain import Refusal, find_unknown, is_unknown, refuse

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from types import ModuleType
    from typing import Any, TypeVar

    Result = TypeVar("Result")

__all__ = ["Refusal", "read_predictor", "static_problems"]


def read_predictor(ref: str, root: str, mode: str = "predict") -> Predictor:
    """Return the model that ref names, for its document: its instance is not initialised.

    Raises Refusal if the source alone is not enough, and LoadError for faults of the interface, as
    model.load.load_predictor does.
    """
    if not ref.partition(":")[0]:
        raise LoadError(f"invalid reference {ref!r}; write it as file.py:Name")
    return _read(ref, root, mode, _predictor)


def static_problems(ref: str, root: str, mode: str) -> list[dict[str, Any]]:
    """Return all mistakes in the signature that ref names; [] if it has another fault."""

    def problems_of(owner: Any, function: Any, mode: str, root: str) -> list[dict[str, Any]]:
        return signature_problems(owner, function, root + os.sep)

    try:
        return _read(ref, root, mode, problems_of)
    except (Refusal, LoadError):
        return []  # the caller has the error of reading


def _read(ref: str, root: str, mode: str, then: Callable[[Any, Any, str, str], Result]) -> Result:
    """Call then with the function that ref names and its owner, while the modules exist."""
    file, _, name = ref.partition(":")
    root = os.path.abspath(root)
    target = os.path.abspath(os.path.join(root, file))
    if not os.path.isfile(target):
        raise LoadError(f"reference {ref!r}: file {target} does not exist")
    with StaticReader(root) as reader:
        at = reader.shown(target), 0  # the place of a refusal without one
        try:
            module = reader.read(_module_name(reader, target), target)
            at = at[0], reader.line_of(target, *([name] if name else DEFAULT_NAMES[mode]))
            owner, function = _find(module, mode, ref, root)
            code = getattr(unwrap(function)[0], "__code__", None)
            if code is not None:
                at = reader.shown(code.co_filename), code.co_firstlineno
            return then(owner, function, mode, root)
        except Refusal as refusal:
            if not refusal.file:
                refusal.file, refusal.line = at
            raise
        except LoadError:
            if reader.unsure is not None:
                raise reader.unsure from None
            raise
        except Exception as exc:
            raise Refusal(f"{type(exc).__name__}: {exc}", "", *at) from exc


def _find(module: ModuleType, mode: str, ref: str, root: str) -> tuple[Any, Callable[..., Any]]:
    thing = pick(module, ref, mode)
    if is_unknown(thing):
        refuse(thing)
    function: Any
    instance, function = find_function(thing, ref, mode, _instance_of)
    if is_unknown(function):
        refuse(function)
    if isinstance(thing, type) and _has_batch(function):
        _check_stages(instance, root)
    return instance, function


def _has_batch(function: Any) -> bool:
    inner, _ = unwrap(function)
    return hasattr(function, BATCH_ATTRIBUTE) or hasattr(inner, BATCH_ATTRIBUTE)


def _check_stages(instance: Any, root: str) -> None:
    """Refuse unknown values in preprocess and postprocess."""
    for name in ("preprocess", "postprocess"):
        _check_init(type(instance), name)
        function = getattr(instance, name, None)
        if function is not None and is_unknown(function):
            refuse(function)
        if callable(function):
            _check_values(function, root)


def _module_name(reader: StaticReader, target: str) -> str:
    """Return a module's name as model.load does; its imports find files beside it."""
    relative = os.path.relpath(target, reader.root)
    parts = relative.removesuffix(".py").split(os.sep)
    # A folder "cog" is not the package of that name.
    if len(parts) > 1 and all(part.isidentifier() for part in parts) and not is_taken(parts[0]):
        reader.find(".".join(parts[:-1]))
        return ".".join(parts)
    if is_taken(parts[-1]):
        parts[-1] += "_model"
    folder = os.path.dirname(target)
    if folder not in reader.path:
        reader.path.append(folder)
    return parts[-1]


def _instance_of(cls: Any, method: str) -> Any:
    """Return an instance without running the class's __init__, which must not set the method.

    It has no setup and no healthcheck: they are not in the document, and may be unknown.
    """
    _check_init(cls, method)
    without = dict.fromkeys(("setup", "healthcheck"))
    try:
        instance = object.__new__(cls)
        vars(instance).update(without)
    except TypeError:  # it has slots
        instance = object.__new__(type(cls)(cls.__name__, (cls,), without))
    return instance


def _check_init(cls: Any, method: str) -> None:
    """Refuse a class whose __init__ replaces the method."""
    for base in cls.__mro__:
        if method in vars(base).get(STORES, "").split():
            raise Refusal(
                f"{base.__name__}.__init__ sets {method}, and is not run", f"self.{method}"
            )


def _predictor(owner: Any, function: Any, mode: str, root: str) -> Predictor:
    for each in (function, *bound_methods(owner).values()):
        _check_values(each, root)
    return Predictor(owner, function, mode, root + os.sep)


def _check_values(function: Any, root: str) -> None:
    """Refuse unknown values in a signature, with the parameter's line."""
    source = Source(function, root)
    function, code = source.inner, source.code
    if code is None:
        return
    values = dict(function.__kwdefaults__ or {})
    defaults = function.__defaults__ or ()
    named = code.co_varnames[: code.co_argcount]
    values.update(zip(named[len(named) - len(defaults) :], defaults, strict=True))
    annotations = {n: _unquoted(a, source.names) for n, a in annotations_of(function).items()}
    for name, value in (*annotations.items(), *values.items()):
        unknown = find_unknown(value)
        if unknown is not None:
            raise Refusal(
                unknown.static_why,
                unknown.static_path,
                source.shown,
                source._line_of(name),
            )


def _unquoted(annotation: Any, names: Names) -> Any:
    """Return the value of a quoted annotation; the annotation itself if it has none."""
    try:
        return names.evaluate(annotation) if type(annotation) is str else annotation
    except Unsupported:
        return annotation
