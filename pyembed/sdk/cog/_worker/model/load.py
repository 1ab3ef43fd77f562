"""From a reference, for example ``predict.py:Predictor``, to a loaded model."""

from __future__ import annotations

import os
import sys

from ...errors import LoadError
from ..schema.parameters import CO_VARARGS
from ..schema.signature import (
    CO_ASYNC_GENERATOR,
    CO_COROUTINE,
    CO_GENERATOR,
    Signature,
    Source,
    attribute_of,
    code_flags,
    is_coroutine_function,
    read_signature,
    unwrap,
)
from ..schema.types import AsyncStreamed, Bytes, Kind, PathKind, Stream, strip

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from types import ModuleType
    from typing import Any

    from ..batch.plan import Plan
    from .examples import Example

__all__ = ["LoadError", "Predictor", "load_predictor"]

_EXAMPLE_FILE = "cog_example.json"

DEFAULT_NAMES = {
    "predict": ("Runner", "Predictor", "run", "predict"),
    "train": ("Trainer", "train"),
}


class Predictor:
    """A loaded model.

    name                what @function names it, "" without
    functions           those with @function of the same class, itself among them if it is one
    instance            the model's object, None for a plain function
    function            what to call with the inputs as keywords
    is_async            calling it returns a coroutine or an async iterator
    is_generator        calling it returns an iterator
    returns_items       it is not a generator, and may return items in any form
    is_async_generator  calling it returns an async iterator; a coroutine whose
                        output is a Stream returns one too, once awaited
    streaming           it has @streaming
    openai              the endpoint that @openai names, "" without it
    tool                what @tool tells agents, None without it
    counts              a method with @openai counts the tokens of a request
    concurrency         the max of @concurrent, 1 without
    isolate             the isolate of @concurrent
    ranks               the count of @ranks, 1 without
    setup               a callable, or None; setup_takes_weights, setup_is_async;
                        setup_weights_kind is the type that it wants them in
    healthcheck         a callable, or None; healthcheck_is_async
    after_fork          what each worker runs after setup, a callable, or None
    example             its example inputs, or None
    plan                how to call it with a batch, None without @batch
    signature           its inputs and output: with @batch, those of one prediction
    """

    def __init__(
        self,
        instance: Any,
        function: Callable[..., Any],
        mode: str,
        root: str,
        excuse: Callable[[LoadError], bool] | None = None,
    ) -> None:
        self.instance = instance
        self.function = function
        self.mode = mode
        _check_self(Source(function, root))
        serves = mode != "train"
        self.name: str = attribute_of(function, "__cog_function__", "") if serves else ""
        self.plan = _plan(None if self.name else instance, function, root) if serves else None
        self.signature: Signature = (
            self.plan.signature if self.plan is not None else read_signature(function, root, excuse)
        )
        if self.signature.output.contains(Bytes):
            from ..values.encode import allow_bytes

            allow_bytes()
        if "cog._batch" in sys.modules:
            from ..._batch import check_methods

            check_methods(instance, self.plan, root)
        self.example = _example(function, self.signature, root, self.name) if serves else None
        self._read_flags()
        self._check_streamed()
        self.streaming = bool(attribute_of(function, "__cog_streaming__", False))
        self.concurrency: int = attribute_of(function, "__cog_concurrency__", 1)
        self.isolate: bool = attribute_of(function, "__cog_isolate__", False)
        marked = function if instance is None else type(instance)
        self.ranks: int = getattr(marked, "__cog_ranks__", 1)
        self.tool: dict[str, Any] | None = attribute_of(function, "__cog_tool__", None)
        self.counts = False
        self.openai = self._read_openai() if serves else ""
        self._read_setup(root)
        healthcheck = getattr(instance, "healthcheck", None)
        self.healthcheck: Callable[..., Any] | None = healthcheck if callable(healthcheck) else None
        self.healthcheck_is_async = is_coroutine_function(self.healthcheck)
        after_fork = getattr(instance, "after_fork", None)
        own = callable(after_fork) and not _is_base_method(after_fork, "after_fork")
        self.after_fork: Callable[..., Any] | None = after_fork if own else None
        if self.streaming and not isinstance(self.signature.output, Stream):
            raise LoadError(
                f"{self.signature.file}:{self.signature.line}: {self.signature.name}: @streaming "
                f"requires an iterator as the return type, not {self.signature.output.name}; "
                "annotate it with Iterator[...] or ConcatenateIterator[str]"
            )
        self.functions: tuple[Predictor, ...] = ()
        if mode == "predict" and instance is not None and "cog._decorators" in sys.modules:
            from .functions import read_functions

            def make(method: Callable[..., Any]) -> Predictor:
                return Predictor(instance, method, "function", root, excuse)

            self.functions = read_functions(self, make, root)

    def _read_flags(self) -> None:
        flags = code_flags(self.function)
        output = self.signature.output
        # A plain function that returns an iterator is called like a generator.
        plain = not flags & (CO_COROUTINE | CO_GENERATOR | CO_ASYNC_GENERATOR)
        returns_sync = plain and isinstance(output, Stream) and not output.is_async
        returns_async = plain and isinstance(output, Stream) and output.is_async
        self.returns_items = not flags & (CO_GENERATOR | CO_ASYNC_GENERATOR)
        self.is_generator = bool(flags & CO_GENERATOR) or returns_sync
        self.is_async_generator = bool(flags & CO_ASYNC_GENERATOR) or returns_async
        self.is_async = self.is_async_generator or bool(flags & CO_COROUTINE)

    def _check_streamed(self) -> None:
        field = self.signature.streamed
        if field is None or field.source is None:
            return
        item = field.kind.children()[0].name
        fault = ""
        if self.mode == "train":
            fault = "a training has no streamed input; take a list"
        elif self.plan is not None:
            fault = (
                "a function with @batch has no streamed input; decorate a method of the model with "
                "@batch and call it for each item: the calls of all sessions share its batches"
            )
        elif self.is_async is not isinstance(field.kind, AsyncStreamed):
            what, kind = ("a function with def", "Iterator")
            if self.is_async:
                what, kind = ("an async function", "AsyncIterator")
            fault = f"{what} takes a streamed input as {kind}[{item}]"
        if fault:
            raise field.source.error(field.parameter, fault)

    def _read_openai(self) -> str:
        openai = sys.modules.get("cog._openai")  # absent: the model does not use it
        if openai is None:
            return ""
        from .openai import check_endpoint, check_other_methods, counted, counter

        endpoint: str = attribute_of(self.function, openai.OPENAI_ATTRIBUTE, "")
        if endpoint:
            check_endpoint(endpoint, self.signature)
        name = getattr(self.function, "__name__", "")
        if self.instance is not None and name:
            check_other_methods(self.instance, name, type(self.instance).__name__)
        count = counter(self) if endpoint == "chat" else None
        if count is not None:
            self.counts = True
            self.function = counted(self, count)
        return endpoint

    def _read_setup(self, root: str) -> None:
        self.setup: Callable[..., Any] | None = None
        self.setup_takes_weights = False
        self.setup_weights_kind: Kind | None = None
        setup = getattr(self.instance, "setup", None)
        if setup is not None and not _is_base_method(setup, "setup"):
            self.setup = setup
            _check_setup(Source(setup, root))
            self.setup_takes_weights, self.setup_weights_kind = _weights_of(setup)
        self.setup_is_async = is_coroutine_function(self.setup)

    def weights_argument(self, value: str) -> Any:
        """Return the weights in the type that setup() wants: a path, or the str itself."""
        if isinstance(self.setup_weights_kind, PathKind):
            if self.setup_weights_kind.type.__module__.startswith("cog."):
                import cog

                return cog.Path.validate(value)
            return self.setup_weights_kind.type(value)
        return value

    def __repr__(self) -> str:
        return f"<Predictor {self.signature.name}>"


def load_predictor(
    ref: str,
    root: str,
    mode: str = "predict",
    excuse: Callable[[LoadError], bool] | None = None,
) -> Predictor:
    """Import the model that ref names and return it, ready for its setup.

    ref is a file below root, optionally with a colon and the name of a class or
    function in it. Raises LoadError for faults of the interface, except types
    that are excused (`read_signature`). Exceptions of the model pass through.
    """
    root = os.path.abspath(root)
    thing = pick(import_model(ref, root), ref, mode)
    owner, function = find_function(thing, ref, mode)
    return Predictor(owner, function, mode, root + os.sep, excuse)


def functions_of(
    predictor: Predictor | None, trainer: Predictor | None
) -> tuple[Predictor | None, ...]:
    """Return run and train, None where there is none, and the functions with @function."""
    named = predictor.functions if predictor is not None else ()
    return (None if predictor is not None and predictor.name else predictor, trainer, *named)


def main_of(functions: tuple[Predictor | None, ...]) -> Any:
    """Return the function that speaks for the model: run, the first with @function, or train."""
    predictor, trainer, *named = functions
    return predictor or (named[0] if named else trainer)


def find_function(
    thing: Any, ref: str, mode: str, make: Callable[[Any, str], Any] = lambda cls, method: cls()
) -> tuple[Any, Callable[..., Any]]:
    """Return the object and the function of a class or function that ref names.

    make returns the object of a class, given the class and the name of its method.
    """
    if not isinstance(thing, type):
        return (None if hasattr(thing, "__code__") else thing), thing
    method = _method_name(thing, ref.partition(":")[0], mode)
    instance = make(thing, method)
    return instance, getattr(instance, method)


def load_thing(ref: str, root: str) -> Any:
    """Return an instance of the class that ref names, without its setup, or the function."""
    thing = pick(import_model(ref, root), ref, "predict")
    return thing() if isinstance(thing, type) else thing


def import_model(ref: str, root: str) -> ModuleType:
    """Import the file that ref names. Raises as `load_predictor` does."""
    file = ref.partition(":")[0]
    if not file:
        raise LoadError(f"invalid reference {ref!r}; write it as file.py:Name")
    target = os.path.abspath(os.path.join(root, file))
    if not os.path.isfile(target):
        raise LoadError(f"reference {ref!r}: file {target} does not exist")
    return _import(target, os.path.abspath(root))


def pick(module: ModuleType, ref: str, mode: str) -> Any:
    """Return the class or function of a module that ref names."""
    file, _, name = ref.partition(":")
    names = (name,) if name else DEFAULT_NAMES[mode]
    default = next((candidate for candidate in names if hasattr(module, candidate)), None)
    if default is None:
        lacks = f'no "{name}"' if name else f"neither {' nor '.join(names)}"
        raise LoadError(f"{file} has {lacks}; {_defined(module)}")
    thing = getattr(module, default)
    if not callable(thing):
        raise LoadError(f"{ref}: {name} must be a class or function, not {type(thing).__name__}")
    return thing


def _defined(module: ModuleType) -> str:
    own = [
        name
        for name, value in vars(module).items()
        if not name.startswith("_") and getattr(value, "__module__", None) == module.__name__
    ]
    return "it defines " + ", ".join(own) if own else "it defines no class or function"


def _method_name(cls: type, file: str, mode: str) -> str:
    """Return which method of a class makes the predictions."""
    methods: dict[str, Any] = {}
    if "cog._decorators" in sys.modules:
        from .functions import methods_of

        methods = methods_of(cls)
    base = sys.modules.get("cog.predictor")
    ours: tuple[type, ...] = (base.BaseRunner, base.BasePredictor) if base is not None else ()

    def defines(name: str) -> bool:
        owners = (c for c in cls.__mro__ if c not in ours and c is not object)
        return any(name in vars(c) for c in owners) and name not in methods

    where = f"{file}: {cls.__name__}"
    if mode == "train" and defines("train"):
        return "train"
    run, predict = defines("run"), defines("predict")
    if run and predict:
        raise LoadError(f"{where} must define either run() or predict(), not both")
    if not run and not predict:
        if methods:
            return next(iter(methods))
        raise LoadError(f"{where} must define run() (or predict(), its older name)")
    return "run" if run else "predict"


def _import(target: str, root: str) -> ModuleType:
    """Import a file as an ordinary module and return it.

    Child processes must find it under its name, for unpickling and
    multiprocessing's spawn.
    """
    _ensure_on_path(root)
    relative = os.path.relpath(target, root)
    parts = relative[: -len(".py")].split(os.sep) if relative.endswith(".py") else [relative]
    if parts[0] != os.pardir and len(parts) > 1 and _is_package_path(parts, root):
        name = ".".join(parts)
    else:
        name = parts[-1]
        if name in ("cog", "coglet"):
            name += "_model"  # a file cog.py imports the package of that name
        _ensure_on_path(os.path.dirname(target))
    if _found_at(name) == os.path.realpath(target):
        __import__(name)
        module = sys.modules[name]
        if _same_file(module, target):
            if name != parts[-1] and not _found_at(parts[-1]):
                sys.modules[parts[-1]] = module  # its name in pickles that were made under Cog
            return module
    return _import_by_spec(name, target)


def _is_package_path(parts: list[str], root: str) -> bool:
    """Import the packages above a file; return False if they are not below root."""
    if not all(part.isidentifier() for part in parts):
        return False
    for depth in range(1, len(parts)):
        name = ".".join(parts[:depth])
        folder = os.path.realpath(os.path.join(root, *parts[:depth]))
        spec = _spec(name)
        places = getattr(spec, "submodule_search_locations", None) or ()
        if folder not in (os.path.realpath(place) for place in places):
            return False
        __import__(name)
    return True


def _found_at(name: str) -> str:
    """Return the file that an import of this name would load, or ""."""
    loaded = sys.modules.get(name)
    if loaded is not None:
        return os.path.realpath(getattr(loaded, "__file__", None) or "?")
    origin = getattr(_spec(name), "origin", None)
    return os.path.realpath(origin) if origin else ""


def _spec(name: str) -> Any:
    """Find a module as the import statement would, without importing it."""
    loaded = sys.modules.get(name)
    if loaded is not None:
        return getattr(loaded, "__spec__", None)
    parent = name.rpartition(".")[0]
    path = getattr(sys.modules.get(parent), "__path__", None) if parent else None
    for finder in sys.meta_path:
        find = getattr(finder, "find_spec", None)  # very old finders have another method
        spec = find(name, path) if find is not None else None
        if spec is not None:
            return spec
    return None


def _import_by_spec(name: str, target: str) -> ModuleType:
    """Load a file whose module name is taken by another module."""
    import importlib.util

    spec = importlib.util.spec_from_file_location(name, target)
    if spec is None or spec.loader is None:
        raise LoadError(f"{target} must be a Python file")
    module = importlib.util.module_from_spec(spec)
    before = sys.modules.get(name)
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except BaseException:
        if before is None:
            del sys.modules[name]
        else:
            sys.modules[name] = before
        raise
    return module


def _ensure_on_path(folder: str) -> None:
    if not any(os.path.realpath(entry or ".") == os.path.realpath(folder) for entry in sys.path):
        # Behind the first entry, which is where the cog package lies.
        sys.path.insert(1, folder)


def _same_file(module: ModuleType, target: str) -> bool:
    file = getattr(module, "__file__", None)
    return file is not None and os.path.realpath(file) == os.path.realpath(target)


def _plan(instance: Any, function: Any, root: str) -> Plan | None:
    options = attribute_of(function, "__cog_batch__", None)
    if options is None:
        return None
    from ..batch.plan import read_plan

    stages = (getattr(instance, name, None) for name in ("preprocess", "postprocess"))
    pre, post = (step if callable(step) else None for step in stages)
    return read_plan(function, options, pre, post, root)


def _example(function: Any, signature: Signature, root: str, name: str) -> Example | None:
    given = attribute_of(function, "__cog_example__", None)
    if given is None and (name or not os.path.exists(os.path.join(root, _EXAMPLE_FILE))):
        return None
    from .examples import read_example  # most models have none

    return read_example(given, signature, root, not name)


def _is_base_method(method: Any, name: str) -> bool:
    base = sys.modules.get("cog.predictor")
    function = getattr(method, "__func__", method)
    return base is not None and function is getattr(base.BaseRunner, name)


def _check_self(source: Source) -> None:
    """Raise LoadError if a method of an object has no self."""
    from ..schema.typeforms import annotations_of

    code = source.code
    if source.bound != 1 or code is None or code.co_flags & CO_VARARGS:
        return
    first = code.co_varnames[0] if code.co_argcount else ""
    if first not in ("self", "cls") and (not first or first in annotations_of(source.inner)):
        name = source.qualname.rpartition(".")[2]
        raise source.error("", f"it has no self: write def {name}(self, …)")


def _check_setup(source: Source) -> None:
    """Raise LoadError if setup() wants what it never gets."""
    _check_self(source)
    code, inner = source.code, source.inner
    if code is None or getattr(source.function, "__func__", source.function) is not inner:
        return  # a decorator may give it more
    names = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
    optional = names[code.co_argcount - len(inner.__defaults__ or ()) : code.co_argcount]
    for name in names[source.bound :]:
        if name not in ("weights", *optional, *(inner.__kwdefaults__ or ())):
            raise source.error(name, "setup() gets weights and nothing else; give it a default")


def takes_weights(setup: Any) -> bool:
    """Return whether a setup function takes weights."""
    return _weights_of(setup)[0]


def _weights_of(setup: Any) -> tuple[bool, Kind | None]:
    """Return whether setup() takes weights, and of which type."""
    from ..schema.annotations import Reader
    from ..schema.typeforms import Names, annotations_of
    from ..schema.types import Unsupported

    inner, bound = unwrap(setup)
    code = getattr(inner, "__code__", None)
    if code is None:
        return False, None
    names = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
    if "weights" not in names[bound:]:
        return False, None
    annotation = annotations_of(inner).get("weights")
    if annotation is None:
        return True, None
    try:
        kind = Reader(Names(getattr(inner, "__globals__", {})), is_input=False).read(annotation)
    except Unsupported:
        return True, None
    kind = strip(kind)
    # `Path | str` gets a path.
    for option in kind.children() or (kind,):
        if isinstance(option, PathKind):
            return True, option
    return True, kind
