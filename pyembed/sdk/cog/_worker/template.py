"""A template: the process that imports the model's modules once, and from which workers are forked.

It makes no predictor and runs no setup: those are each worker's own.
"""

from __future__ import annotations

import gc
import os
import sys

import _px

from .load import import_model
from .wire import TEMPLATE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

# Files that stand for a device that a process holds, and that no fork of it can use.
_DEVICES = ("/dev/nvidia", "/dev/kfd")


def beget(config: dict[str, Any]) -> dict[str, Any]:
    """Import the model and fork workers. Return in each of these, with its config.

    Nothing returns in the template itself: what the module has registered with atexit is for its
    workers to do.
    """
    refused = _import(config)
    if _px.is_child():
        _px.leave_child(None)  # the model's module forked, and the child came back
    refused = refused or _why_not()
    _px.control(TEMPLATE, {"refused": refused} if refused else {})
    if refused:
        os._exit(0)
    if "asyncio" in sys.modules:
        from . import aio  # noqa: F401 - likely needed, and slow to import
    # The collector would write to each object that it looks at, and so make a copy of its page in
    # each worker.
    gc.collect()
    gc.freeze()
    body = _px.fork_workers()
    if body is None:  # the server is gone
        os._exit(0)
    request = _px.loads(body)
    for name, value in request["env"].items():
        if value is None:
            os.environ.pop(name, None)
        else:
            os.environ[name] = value
    _reseed()
    _px.start_worker()
    worker: dict[str, Any] = request["spec"]
    return worker


def _import(config: dict[str, Any]) -> str:
    """Import the model's files. Return why that cannot be, or ""."""
    refs = [config["train"]] if config.get("train") else []
    if config.get("mode") != "train" and config["ref"]:
        refs.insert(0, config["ref"])
    try:
        for ref in refs:
            import_model(ref, config["root"])
    except BaseException as error:
        if _px.is_child():
            _px.leave_child(error)
        return f"its import raises {type(error).__name__}: {error}"
    return ""


def _why_not() -> str:
    """Say why no worker may be forked, or return ""."""
    held = _held()
    if _px.cuda_started() or held:
        which = f" ({', '.join(held)})" if held else ""
        return (
            f"its import starts CUDA or opens a GPU{which}, which does not work in a fork: "
            "leave that to setup()"
        )
    threads = _threads(_px.template_look())
    if threads:
        number = "1 thread" if len(threads) == 1 else f"{len(threads)} threads"
        return (
            f"its import leaves {number} running ({', '.join(threads)}), "
            "which a fork would not have: start them in setup()"
        )
    return ""


def _held() -> list[str]:
    found = set()
    for fd in os.listdir("/proc/self/fd"):
        try:
            path = os.readlink("/proc/self/fd/" + fd)
        except OSError:
            continue  # the one that listdir had
        if path.startswith(_DEVICES):
            found.add(path)
    return sorted(found)


def _threads(running: list[tuple[int, str]]) -> list[str]:
    """Name threads: as Python does where they are its own, else as the kernel does."""
    threading = sys.modules.get("threading")
    known = {t.native_id: t.name for t in threading.enumerate()} if threading else {}
    plain = "one without a name"
    return [known.get(tid) or (plain if name == "px-template" else name) for tid, name in running]


def _reseed() -> None:
    """Seed NumPy's own generator anew, as Python does its own.

    Else all workers would draw the same numbers.
    """
    seed = getattr(sys.modules.get("numpy.random"), "seed", None)
    if seed is not None:
        seed()
