"""The worker's program: load the predictor, set it up, serve, exit."""

from __future__ import annotations

import faulthandler
import os
import sys
import time

import _px

from .logs.streams import order_streams
from .serve.wire import HELLO, LOADED, READY, SETUP_FAILED

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from .model.load import Predictor


def preload(forbidden: bool) -> None:
    """Import what every worker needs, while Python writes bytecode.

    forbidden says that Python writes none afterwards, as the model's environment asks.
    """
    if forbidden:
        from .serve.bytecode import cache_bytecode

        cache_bytecode(os.path.dirname(os.path.dirname(__file__)))
    from . import primitives, scope  # noqa: F401
    from .model import load  # noqa: F401
    from .schema import document  # noqa: F401
    from .serve import sync  # noqa: F401
    from .values import coerce, encode  # noqa: F401


def main() -> None:
    """Run the worker. The bootstrap calls this on the interpreter's main thread."""
    config = _px.loads(_px.config)
    _prepare_process(config)
    if config.get("fetched"):
        from . import fetched

        fetched.use(config)
    preloaded, model = config.get("preload"), None
    is_set_up = config.get("preload_setup")
    if preloaded:
        from .serve.preloader import preload_model

        config, model = preload_model(config, _load)
        if not config:
            return  # the preload process ends, with what its setup registered for that
        # From here on this is a worker, forked from the preload process.
        if config.get("fetched"):
            from . import fetched

            fetched.use(config)
    if config.get("calls"):
        from .scope import Scope

        Scope.calls, Scope.owned = config["calls"], True
    _px.control(HELLO, _hello())
    try:
        if model is None:
            model = _load(config)
        _px.control(LOADED, model.description)
        served = _server_of(model, config)
        if config.get("fetched") and not is_set_up:
            from . import fetched

            fetched.await_for_setup(config)
    except BaseException as error:
        _setup_failed(config, error, 0.0)
        return
    if _px.is_child():
        _px.exit_child(None)  # the model's module forked, and this is the child
    began = time.monotonic()
    tracing = leave_setup = None
    try:
        if config.get("tracing"):
            from .tracing import Tracing

            tracing = Tracing(config["tracing"], config["root"])
            served.trace(tracing.follow)
            leave_setup = tracing.enter_setup(config["tracing"].get("setup", ""))
        if not is_set_up:
            served.setup(config)
        served.after_fork()
        if not config.get("no_warm_up") and not model.is_warm:
            served.warm_up()
        if leave_setup is not None:
            leave_setup()
    except BaseException as error:
        _setup_failed(config, error, time.monotonic() - began)
        if tracing is not None:
            tracing.stop()  # the model's spans tell more
        return
    if _px.is_child():
        _px.exit_child(None)  # setup forked
    _give_stacks()
    _px.control(READY, {"seconds": time.monotonic() - began, **_log_ends()})
    try:
        served.serve()
    except BaseException as error:
        from .errors import abort

        abort(error)
    _px.handle_cancels(None)  # it refers to the model, which is destroyed at the end
    if tracing is not None:
        tracing.stop()
    if is_set_up:
        from .serve.forked import leave

        leave()
    if preloaded:
        import gc

        gc.unfreeze()  # else what is left of the import is not destroyed


def _prepare_process(config: dict[str, Any]) -> None:
    # A fault prints a Python traceback and then kills the process by its signal:
    # C restored the default handlers before the interpreter started.
    faulthandler.enable()
    # sys.path[0] is the cog package's folder, from the bootstrap. The "" of "-c" after
    # it becomes the model's folder, as under "python run.py".
    if "" in sys.path:
        sys.path.remove("")
    sys.path.insert(1, config["root"])
    sys.argv = [(config["ref"] or config["train"]).partition(":")[0]]
    sys.orig_argv = [sys.executable, *sys.argv]
    _give_submodules()
    order_streams()
    if not os.environ.get("PYTHONBREAKPOINT"):
        sys.breakpointhook = _breakpoint_on(config.get("terminal", False))
    if sys.unraisablehook is sys.__unraisablehook__:
        _px.use_unraisablehook(sys.unraisablehook)
        sys.unraisablehook = _px.substitute(sys.unraisablehook, _px.unraisable)
        sys.__unraisablehook__ = sys.unraisablehook
    if sys.version_info >= (3, 12) and sys.warnoptions:
        import warnings

        # Every fork would warn about our threads, which the fork hook handles. Without -W
        # these warnings are ignored anyway.
        warnings.filterwarnings("ignore", r".*fork\(\) may lead to deadlocks", DeprecationWarning)
    if sys.version_info >= (3, 14) and not sys._is_gil_enabled():
        from .gil import watch

        watch()
    _extend_child_path()


def _give_stacks() -> None:
    """Let the front ask what a prediction does that does not end."""
    number, file = _px.open_stack()
    faulthandler.register(number, file, False)
    _px.give_stacks(file)


# Packages whose submodules need no import, and modules that log: see `serve.submodules`.
PACKAGES = ("concurrent", "email", "http", "importlib", "urllib", "logging", "warnings")


def _breakpoint_on(terminal: bool) -> Callable[..., None]:
    def stop(*args: Any, **kwargs: Any) -> None:
        from .debug import stop_at

        stop_at(sys._getframe(1), terminal)

    return stop


class _Finder:
    @staticmethod
    def find_spec(name: str, path: Any = None, target: Any = None) -> Any:
        """Find these packages with the other finders, and extend them."""
        if name not in PACKAGES:
            return None
        from .serve.submodules import find_extended

        return find_extended(name, path, target, _Finder)


def _give_submodules() -> None:
    for name in PACKAGES:
        if name in sys.modules:
            from .serve.submodules import extend

            extend(sys.modules[name])
    sys.meta_path.insert(0, _Finder)


def _extend_child_path() -> None:
    """Make Python processes that the model starts import the same `cog`."""
    here = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    before = os.environ.get("PYTHONPATH")
    os.environ["PYTHONPATH"] = here + os.pathsep + before if before else here


def _hello() -> dict[str, Any]:
    return {
        "protocol": 1,
        "pid": os.getpid(),
        "python": ".".join(map(str, sys.version_info[:3])),
        "executable": sys.executable or "",
    }


class Model:
    """A loaded model: its functions, how many predictions run at once, what the front is told.

    functions are run and train, None where there is none, and those with @function. is_warm says
    that their examples have run.
    """

    is_warm = False

    def __init__(
        self,
        functions: tuple[Predictor | None, ...],
        slots: int,
        description: dict[str, Any],
    ) -> None:
        self.functions = functions
        self.slots = slots
        self.description = description


def _load(config: dict[str, Any]) -> Model:
    """Import the model."""
    from cog.exceptions import CancelationException

    from .model.load import LoadError, functions_of, load_predictor, main_of

    _px.set_cancel_type(CancelationException)
    root, training = config["root"], config.get("mode") == "train"
    excused = []

    def excuse(fault: LoadError) -> bool:
        from .model.stored import is_excused  # most models have no fault

        excused.append(fault)
        return is_excused(fault, root)

    predictor = None if training else load_predictor(config["ref"], root, "predict", excuse)
    trainer = None
    if config.get("train"):
        trainer = load_predictor(config["train"], root, "train", excuse)
    functions = functions_of(predictor, trainer)
    named = [each for each in functions[2:] if each is not None]
    main = main_of(functions)
    for loaded in functions:
        if loaded is None:
            continue
        signature = loaded.signature
        if signature.warnings or any(f.warnings or f.none_default for f in signature.inputs):
            _note(loaded, root, config.get("none_defaults", ""))
    if main is None:
        raise LoadError("no train function to serve")
    slots = config.get("concurrency") or max(each.concurrency for each in (main, *named))
    if slots > 1 and (config.get("ranks") or main.ranks) > 1:
        raise LoadError(
            f"{main.signature.name}: with ranks a worker runs one prediction at a time, "
            f"so its concurrency must be 1, not {slots}; use more workers"
        )
    if slots > 1 and not main.is_async:
        for each in () if training else (main, *named):
            _check_slots(slots, each)
        slots = 1 if training else slots
    description = {"slots": slots, **_describe(main, functions)}
    if excused:
        description["excused"] = True
    if slots > 1 and not main.is_async:
        from .serve.waits import follow_waits

        follow_waits()  # before setup makes locks: some keep their methods
    return Model(functions, slots, description)


def _server_of(model: Model, config: dict[str, Any]) -> Any:
    """Return the server of a model."""
    from .model.load import main_of

    functions, slots = model.functions, model.slots
    main: Any = main_of(functions)
    ranks = config.get("ranks", 0)
    if not ranks and main.ranks > 1:
        while True:
            time.sleep(3600)  # the front ends this process, and starts one for each rank
    fatal = tuple(config.get("gpu_lost") or ())
    if ranks > 1:
        from .serve.ranks import follow

        follow(functions, config.get("rank", 0))
        fatal = ("",)  # any: a rank that runs halves of a batch alone waits for the others for ever
    if functions[0] is not None and "numpy" in sys.modules:
        from .values import ndarrays

        _px.use_arrays(ndarrays.codes(functions[0].signature))
    if any(each is not None and each.plan is not None for each in functions):
        return _batch_server(functions, slots, fatal)
    if slots > 1 and not main.is_async:
        from .serve.threads import ThreadServer

        return ThreadServer(functions, slots)
    if main.is_async or main.setup_is_async:
        from .serve.aio import AsyncServer

        return AsyncServer(functions, slots)
    from .serve.sync import SyncServer

    return SyncServer(functions)


def _check_slots(slots: int, main: Predictor) -> None:
    """Raise LoadError if so many predictions of a synchronous function cannot run at once."""
    from .model.load import LoadError
    from .model.slots import slots_problem

    problem = slots_problem(main, slots)
    if problem is not None:
        raise LoadError("{}: {}".format(*problem))


def _describe(main: Predictor, functions: tuple[Predictor | None, ...]) -> dict[str, Any]:
    """Return what the front needs to know about a model."""
    from cog import __version__

    from .schema.document import openapi
    from .schema.types import Stream

    predictor, trainer, *named = functions
    plan = predictor.plan if predictor is not None else None
    example = predictor.example if predictor is not None else None
    return {
        "cog": __version__,
        "async": main.is_async,
        "streaming": predictor is not None and isinstance(predictor.signature.output, Stream),
        **({"streamed": True} if _has_streamed(functions) else {}),
        **({"function": predictor.signature.name} if predictor is not None else {}),
        "healthcheck": main.healthcheck is not None,
        "train": trainer is not None,
        "predict": predictor is not None,
        "schema": openapi(*functions),
        **({"example": example.document} if example is not None else {}),
        **({"batch": plan.summary()} if plan is not None else {}),
        **({"functions": {each.name: _batch_of(each) for each in named if each}} if named else {}),
        **({"isolate": True} if main.isolate else {}),
        **({"ranks": main.ranks} if main.ranks > 1 else {}),
        **({} if _has_gil() else {"no_gil": True}),
    }


def _batch_of(function: Predictor) -> dict[str, Any]:
    return {"batch": function.plan.summary()} if function.plan is not None else {}


def _has_streamed(functions: tuple[Predictor | None, ...]) -> bool:
    """Return whether a function of a model has a streamed input."""
    if all(each is None or each.signature.streamed is None for each in functions):
        return False
    from .scope import Scope

    Scope.owned = True
    return True


def _has_gil() -> bool:
    is_enabled: Any = getattr(sys, "_is_gil_enabled", None)  # from Python 3.13 on
    return is_enabled is None or bool(is_enabled())


def _batch_server(
    functions: tuple[Predictor | None, ...], slots: int, fatal: tuple[str, ...]
) -> Any:
    """Return the server of functions with @batch. fatal are texts of fatal errors."""
    if any(each is not None and each.plan is not None and each.is_async for each in functions):
        from .batch.aio_server import AsyncBatchServer

        return AsyncBatchServer(functions, slots, fatal)
    from .batch.server import BatchServer, StagedBatchServer

    plan = functions[0].plan if functions[0] is not None else None
    staged = plan is not None and (plan.preprocess is not None or plan.postprocess is not None)
    return (StagedBatchServer if staged else BatchServer)(functions, fatal)


def _note(predictor: Predictor, root: str, none_defaults: str) -> None:
    """Write notices about the inputs of a model to the log."""
    from .model.notices import apply_none_defaults, notices  # most models have nothing of the kind

    apply_none_defaults(predictor, none_defaults)
    for line in notices(predictor, root):
        print(f"cog: warning: {line}", file=sys.stderr)


def _log_ends() -> dict[str, int]:
    stdout, stderr = _px.log_positions()
    return {"stdout": stdout, "stderr": stderr}


def _setup_failed(config: dict[str, Any], error: BaseException, seconds: float) -> None:
    if _px.is_child():
        _px.exit_child(error)
    from .errors import describe

    text = describe(error)
    try:
        from .model.problems import failure

        problem = failure(error, config["root"])
    except BaseException:  # a model's exception may break anything that looks at it
        problem = {"what": text}
    _px.control(
        SETUP_FAILED, {"error": text, "seconds": seconds, **_log_ends(), "problem": problem}
    )
