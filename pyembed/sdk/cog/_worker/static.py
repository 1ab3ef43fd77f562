"""The document of a model from its source, without what the source imports.

The modules of the model are read by `static_module`: definitions are made, foreign imports are
not. What comes out is the same `Predictor` that an import gives, so that one reader of signatures
and one writer of schemas serve both. Where that cannot be told from the source alone, there is a
`Refusal`.
"""

from __future__ import annotations

import os

from .._batch import BATCH_ATTRIBUTE
from .load import _DEFAULT_NAMES, LoadError, Predictor, _method_name, _pick
from .signature import Source, unwrap
from .static_module import StaticReader, is_taken
from .static_unknown import Refusal, find_unknown, is_unknown, refuse

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from types import ModuleType
    from typing import Any, TypeVar

    Result = TypeVar("Result")

__all__ = ["Refusal", "read_predictor", "static_problems"]


def read_predictor(ref: str, root: str, mode: str = "predict") -> Predictor:
    """Return the model that ref names as far as its document needs it; its instance is not made.

    Takes what load.load_predictor takes. Raises Refusal where the source alone does not tell, and
    LoadError where the interface is not met.
    """
    if not ref.partition(":")[0]:
        raise LoadError(f"reference {ref!r} names no file; write it as file.py:Name")
    return _read(ref, root, mode, _predictor)


def static_problems(ref: str, root: str, mode: str) -> list[dict[str, Any]]:
    """Return all mistakes in the signature that ref names; [] where it has another fault."""
    from .static_problems import signature_problems

    def look(owner: Any, function: Any, mode: str, root: str) -> list[dict[str, Any]]:
        return signature_problems(function, root + os.sep)

    try:
        return _read(ref, root, mode, look)
    except (Refusal, LoadError):
        return []  # the caller has what reading said


def _read(ref: str, root: str, mode: str, then: Callable[[Any, Any, str, str], Result]) -> Result:
    """Find the function that ref names and its owner, while the modules of the model are there."""
    file, _, name = ref.partition(":")
    root = os.path.abspath(root)
    target = os.path.abspath(os.path.join(root, file))
    if not os.path.isfile(target):
        raise LoadError(f"reference {ref!r}: there is no file {target}")
    with StaticReader(root) as reader:
        at = reader.shown(target), 0  # where to look, unless a reason tells it better
        try:
            module = reader.read(_module_name(reader, target), target)
            at = at[0], reader.line_of(target, *([name] if name else _DEFAULT_NAMES[mode]))
            owner, function = _find(module, name, mode, ref, root)
            code = getattr(unwrap(function)[0], "__code__", None)
            if code is not None:
                at = reader.shown(code.co_filename), code.co_firstlineno
            return then(owner, function, mode, root)
        except Refusal as refusal:
            refusal = reader.refusal_of(refusal)
            if not refusal.file:
                refusal.file, refusal.line = at
            raise refusal from None
        except LoadError:
            if reader.star is not None:
                raise reader.star from None  # what is said to be missing may come from there
            raise
        except (Exception, SystemExit) as exc:
            raise reader.refusal_of(exc) from exc


def _find(
    module: ModuleType, name: str, mode: str, ref: str, root: str
) -> tuple[Any, Callable[..., Any]]:
    file = ref.partition(":")[0]
    thing = _pick(module, file, name, mode)
    if is_unknown(thing):
        refuse(thing)
    if not isinstance(thing, type):
        if not callable(thing):
            raise LoadError(f"{ref}: {name} is no class or function but {type(thing).__name__}")
        owner = thing if not hasattr(thing, "__code__") else None
        return owner, thing
    method = _method_name(thing, file, mode)
    _check_init(thing, method)
    instance = _instance_of(thing)
    function = getattr(instance, method)
    if is_unknown(function):
        refuse(function)
    if _has_batch(function):
        _check_around(instance, root)
    return instance, function


def _has_batch(function: Any) -> bool:
    inner, _ = unwrap(function)
    return hasattr(function, BATCH_ATTRIBUTE) or hasattr(inner, BATCH_ATTRIBUTE)


def _check_around(instance: Any, root: str) -> None:
    """Refuse what is not known of the functions that a batched one has around it."""
    for name in ("preprocess", "postprocess"):
        _check_init(type(instance), name)
        function = getattr(instance, name, None)
        if function is not None and is_unknown(function):
            refuse(function)
        if callable(function):
            _check_values(unwrap(function)[0], root)


def _module_name(reader: StaticReader, target: str) -> str:
    """Name a module as load does, and let its imports find what lies beside it."""
    relative = os.path.relpath(target, reader.root)
    parts = relative.removesuffix(".py").split(os.sep)
    # A folder "cog" is not the package of that name.
    if len(parts) > 1 and all(part.isidentifier() for part in parts) and not is_taken(parts[0]):
        reader.read_packages(parts[:-1])
        return ".".join(parts)
    if is_taken(parts[-1]):
        parts[-1] += "_model"
    folder = os.path.dirname(target)
    if folder not in reader.path:
        reader.path.append(folder)
    return parts[-1]


def _instance_of(cls: Any) -> Any:
    """Return an instance without running the class's __init__.

    It has neither setup nor healthcheck: they do not belong to the document, so what is not known
    of them does no harm.
    """
    without = dict.fromkeys(("setup", "healthcheck"))
    try:
        instance = object.__new__(cls)
        vars(instance).update(without)
    except TypeError:  # it has slots
        instance = object.__new__(type(cls)(cls.__name__, (cls,), without))
    return instance


def _check_init(cls: Any, method: str) -> None:
    """Refuse a class whose __init__ puts another function in the place of the method."""
    import dis

    for base in cls.__mro__:
        code = getattr(vars(base).get("__init__"), "__code__", None)
        for step in dis.get_instructions(code) if code is not None else ():
            if step.opname == "STORE_ATTR" and step.argval == method:
                raise Refusal(
                    f"{base.__name__}.__init__ sets {method}, and is not run", f"self.{method}"
                )


def _predictor(owner: Any, function: Any, mode: str, root: str) -> Predictor:
    inner, _ = unwrap(function)
    _check_values(inner, root)
    return Predictor(owner, function, mode, root + os.sep)


def _check_values(function: Any, root: str) -> None:
    """Refuse, with the parameter's line, what a signature holds that is not known."""
    code = getattr(function, "__code__", None)
    if code is None:
        return
    source = Source(function, function.__qualname__, root)
    values = dict(function.__kwdefaults__ or {})
    defaults = function.__defaults__ or ()
    names = code.co_varnames[: code.co_argcount]
    values.update(zip(names[len(names) - len(defaults) :], defaults, strict=True))
    for name, value in (*function.__annotations__.items(), *values.items()):
        unknown = find_unknown(value)
        if unknown is not None:
            raise Refusal(
                unknown._static_why,
                unknown._static_path,
                source.shown,
                source._line_of(name),
            )
