"""A worker's life in Python: load the predictor, set it up, serve, leave."""

from __future__ import annotations

import faulthandler
import os
import sys
import time

import _px

from .lost import unraisable
from .streams import order_streams
from .wire import HELLO, LOADED, READY, SETUP_FAILED

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from .load import Predictor


def preload(unkept: bool) -> None:
    """Import what every worker needs, while its bytecode may be written.

    unkept is whether that of other modules may not be.
    """
    if unkept:
        from .kept import keep

        here = os.path.dirname(__file__)
        keep(os.path.dirname(here), here)
    from . import coerce, encode, load, schema, scope, setup, sync  # noqa: F401


def main() -> None:
    """Run the worker. The bootstrap calls this on the interpreter's main thread."""
    config = _px.loads(_px.config)
    _prepare_process(config)
    if config.get("template"):
        from .template import beget

        config = beget(config)  # from here on this is a worker, forked from the template
    _px.control(HELLO, _hello())
    try:
        served = _load(config)
    except BaseException as error:
        _setup_failed(config, error, 0.0)
        return
    if _px.is_child():
        _px.leave_child(None)  # the model's module forked, and the child came back
    began = time.monotonic()
    try:
        served.setup(config)
        if not config.get("no_warm_up"):
            served.warm_up()
    except BaseException as error:
        _setup_failed(config, error, time.monotonic() - began)
        return
    if _px.is_child():
        _px.leave_child(None)  # so did setup
    _px.control(READY, {"seconds": time.monotonic() - began, **_log_ends()})
    try:
        served.serve()
    except BaseException as error:
        abort(error)


def _prepare_process(config: dict[str, Any]) -> None:
    # Faults print a Python traceback and then kill the process by their own
    # signal; the C side gave Go's handlers back before the interpreter began.
    faulthandler.enable()
    # sys.path[0] is the cog package's folder (the bootstrap put it there), and
    # then stands "" for the "-c" it was started with: as under "python run.py"
    # it shall be the model's folder, which is also the working folder.
    if "" in sys.path:
        sys.path.remove("")
    sys.path.insert(1, config["root"])
    sys.argv = [(config["ref"] or config["train"]).partition(":")[0]]
    _give_submodules()
    order_streams()
    sys.unraisablehook = unraisable
    if sys.version_info >= (3, 12) and sys.warnoptions:
        import warnings

        # Every fork would warn that the process has threads: ours, which the
        # fork hook knows how to handle. Where nobody asked for warnings, such
        # as these are ignored anyway, and need no regular expression.
        warnings.filterwarnings("ignore", r".*fork\(\) may lead to deadlocks", DeprecationWarning)
    _extend_child_path()


# Packages whose submodules are there without an import: see `submodules`.
PACKAGES = ("concurrent", "email", "http", "importlib", "urllib")


class _Finder:
    @staticmethod
    def find_spec(name: str, path: Any = None, target: Any = None) -> Any:
        """Find these packages as the other finders do, and have them extended."""
        if name not in PACKAGES:
            return None
        from .submodules import find_extended

        return find_extended(name, path, target, _Finder)


def _give_submodules() -> None:
    for name in PACKAGES:
        if name in sys.modules:
            from .submodules import extend

            extend(sys.modules[name])
    sys.meta_path.insert(0, _Finder)


def _extend_child_path() -> None:
    """Let Python processes that the model starts import the same `cog`."""
    here = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    rest = os.environ.get("PYTHONPATH")
    os.environ["PYTHONPATH"] = here + os.pathsep + rest if rest else here


def _hello() -> dict[str, Any]:
    return {
        "protocol": 1,
        "pid": os.getpid(),
        "python": ".".join(map(str, sys.version_info[:3])),
        "executable": sys.executable or "",
    }


def _load(config: dict[str, Any]) -> Any:
    """Import the predictor, tell the front what it is, and choose how to serve it."""
    from cog import __version__
    from cog.exceptions import CancelationException

    from .load import LoadError, load_predictor
    from .schema import openapi

    _px.set_cancel_type(CancelationException)
    root, training = config["root"], config.get("mode") == "train"

    excused = []

    def excuse(fault: LoadError) -> bool:
        from .stored import is_excused  # most models have no fault

        excused.append(fault)
        return is_excused(fault, root)

    predictor = None if training else load_predictor(config["ref"], root, "predict", excuse)
    trainer = None
    if config.get("train"):
        trainer = load_predictor(config["train"], root, "train", excuse)
    for loaded in (predictor, trainer):
        if loaded is not None and any(f.doubts or f.none_default for f in loaded.signature.inputs):
            _note(loaded, root, config.get("none_defaults", ""))
    main = predictor or trainer
    if main is None:
        raise LoadError("there is no train function to serve")
    slots = config.get("concurrency") or main.concurrency
    if slots > 1 and not main.is_async:
        raise LoadError(
            f"a concurrency of {slots} needs an async predict function: "
            f"{config['train'] if training else config['ref']} is synchronous "
            "and takes one prediction at a time"
        )
    plan = predictor.plan if predictor is not None else None
    example = predictor.example if predictor is not None else None
    _px.control(
        LOADED,
        {
            "cog": __version__,
            "slots": slots,
            "async": main.is_async,
            "streaming": main.streaming,
            "healthcheck": main.healthcheck is not None,
            "train": trainer is not None,
            "predict": predictor is not None,
            "schema": openapi(predictor, trainer),
            **({"example": example.document} if example is not None else {}),
            **({"excused": True} if excused else {}),
            **({"batch": plan.told()} if plan is not None else {}),
        },
    )
    if predictor is not None and "numpy" in sys.modules:
        from . import ndarrays

        _px.arrays(ndarrays.codes(predictor.signature))
    if predictor is not None and plan is not None:
        from .batched import AroundServer, BatchServer

        lost = tuple(config.get("gpu_lost") or ())
        if not main.is_async:
            around = plan.preprocess is not None or plan.postprocess is not None
            serving = AroundServer if around else BatchServer
            return serving(predictor, plan, trainer, lost)
        from .aio_batched import AsyncBatchServer

        return AsyncBatchServer(predictor, plan, trainer, slots, lost)
    if main.is_async or main.setup_is_async:
        from .aio import AsyncServer

        return AsyncServer(predictor, trainer, slots)
    from .sync import SyncServer

    return SyncServer(predictor, trainer)


def _note(predictor: Predictor, root: str, none_defaults: str) -> None:
    """Write to the log what is odd in the inputs of a model."""
    from .notices import notices, settle_none_defaults  # most models have nothing of the kind

    settle_none_defaults(predictor, none_defaults)
    for line in notices(predictor, root):
        print(f"cog: warning: {line}", file=sys.stderr)


def _log_ends() -> dict[str, int]:
    stdout, stderr = _px.log_positions()
    return {"stdout": stdout, "stderr": stderr}


def _setup_failed(config: dict[str, Any], error: BaseException, seconds: float) -> None:
    if _px.is_child():
        _px.leave_child(error)
    from .errors import describe

    text = describe(error)
    try:
        from .static_problems import failure

        problem = failure(error, config["root"])
    except BaseException:  # a model's exception may break anything that looks at it
        problem = {"what": text}
    _px.control(
        SETUP_FAILED, {"error": text, "seconds": seconds, **_log_ends(), "problem": problem}
    )


def abort(error: BaseException) -> None:
    """End a worker that cannot serve any more.

    At once: the front waits for the answers that it owes, and threads of the model's could keep
    an interpreter that shuts down in order from ever ending.
    """
    try:
        sys.__excepthook__(type(error), error, error.__traceback__)
        _px.log_positions()  # flushes
    finally:
        os._exit(1)
