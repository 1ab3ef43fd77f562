"""The preload process: it imports the model's modules once and forks workers.

With --preload=setup it also makes the predictor and runs its setup (`forked`); else each worker
does that.
"""

from __future__ import annotations

import gc
import os
import sys

import _px

from ..model.load import import_model
from ..primitives import are_replaced
from .wire import PRELOADED

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from ..main import Model
    from .forked import SetUp

# Device files that a process has open and that its forks cannot use.
_DEVICES = ("/dev/nvidia", "/dev/kfd")

# How names of threads begin that OpenTelemetry and Sentry start again in a fork.
_FORK_SAFE = ("Otel", "sentry")


def preload_model(
    config: dict[str, Any], load: Callable[[dict[str, Any]], Model]
) -> tuple[dict[str, Any], Model | None]:
    """Import the model and fork workers. Return in each worker, with its config.

    With the model, where its setup has run. A preload process that has run it returns ({}, None),
    for its atexit functions run at its end; another never returns: they are for the workers.
    """
    setup = None
    refused = _import(config)
    if _px.is_child():
        _px.exit_child(None)  # the model's module forked, and this is the child
    refused = refused or _why_not("import", "setup()")
    importable = not refused
    if config.get("preload_setup") and importable:
        from .forked import SetUp

        setup = SetUp(config, load)
        refused = setup.run() or _why_not("setup", "after_fork()") or setup.left_open()
    ended: dict[str, Any] = {"refused": refused} if refused else {}
    if setup is not None:
        ended.update(imports=importable, setup_seconds=setup.seconds)
    _px.control(PRELOADED, ended)
    if refused:
        return _end(setup)
    if "asyncio" in sys.modules:
        from . import aio  # noqa: F401 - likely needed, and slow to import
    # The collector writes to the objects that it visits: each worker would copy their pages.
    gc.collect()
    gc.freeze()
    body = _px.fork_workers()
    if body is None:  # the server has exited, or needs no more workers
        return _end(setup)
    request = _px.loads(body)
    if setup is not None:
        setup.begin_worker()
    for name, value in request["env"].items():
        if value is None:
            os.environ.pop(name, None)
        else:
            os.environ[name] = value
    _reseed()
    _px.start_worker()
    worker: dict[str, Any] = request["config"]
    return worker, setup.model if setup is not None else None


def _end(setup: SetUp | None) -> tuple[dict[str, Any], None]:
    if setup is None:
        os._exit(0)
    gc.unfreeze()
    return {}, None


def _import(config: dict[str, Any]) -> str:
    """Import the model's files. Return why that fails, or ""."""
    refs = [config["train"]] if config.get("train") else []
    if config.get("mode") != "train" and config["ref"]:
        refs.insert(0, config["ref"])
    try:
        for ref in refs:
            import_model(ref, config["root"])
        if getattr(sys, "lazy_modules", None):  # from Python 3.15 on
            _finish_lazy_imports()
    except BaseException as error:
        if _px.is_child():
            _px.exit_child(error)
        return f"its import raises {type(error).__name__}: {error}"
    return ""


def _finish_lazy_imports() -> None:
    """Import what the model's modules import lazily, and what that imports.

    What cannot be imported stays lazy: its first use raises the exception, if there is one.
    """
    from contextlib import suppress
    from types import LazyImportType  # type: ignore[attr-defined]

    seen: set[str] = set()
    while new := sys.modules.keys() - seen:
        seen |= new
        for name in new:
            if name.partition(".")[0] in sys.stdlib_module_names:
                continue
            module = sys.modules[name]
            for attribute, value in list(getattr(module, "__dict__", {}).items()):
                if type(value) is LazyImportType:
                    with suppress(Exception):
                        getattr(module, attribute)


def _why_not(what: str, place: str) -> str:
    """Return why no worker may be forked after the import or the setup, or "".

    place is where the model may do instead what does not survive a fork.
    """
    devices = _open_devices()
    if _px.cuda_started() or devices:
        which = f" ({', '.join(devices)})" if devices else ""
        return (
            f"its {what} starts CUDA or opens a GPU{which}, which does not work in a fork: "
            f"leave that to {place}"
        )
    known = _python_threads()
    safe = [tid for tid, name in known.items() if name.startswith(_FORK_SAFE)]
    threads = _px.foreign_threads(safe)
    if threads:
        number = "1 thread" if len(threads) == 1 else f"{len(threads)} threads"
        names = "; ".join(_names(threads, known))
        if what == "setup":
            from .unforkable import advice

            place += advice(names)
        return (
            f"its {what} leaves {number} running ({names}), "
            f"which a fork would not have: start them in {place}"
        )
    processes = _processes()
    if processes:
        return (
            f"its {what} leaves other processes running ({', '.join(processes)}), "
            f"which workers would share: start them in {place}"
        )
    return ""


def _processes() -> list[str]:
    """Return the names of this process's children, without trackers of resources."""
    trackers = {
        getattr(getattr(module, "_resource_tracker", None), "_pid", None)
        for name, module in sys.modules.copy().items()
        if name.endswith(".resource_tracker")
    }
    names = []
    for task in os.listdir("/proc/self/task"):
        try:
            with open(f"/proc/self/task/{task}/children") as children:
                pids = [int(pid) for pid in children.read().split()]
            for pid in pids:
                with open(f"/proc/{pid}/stat") as stat:
                    name, _, rest = stat.read().partition("(")[2].rpartition(")")
                if pid not in trackers and rest.split()[0] != "Z":
                    names.append(name)
        except OSError:
            continue  # a thread or a child that has ended, or a kernel that does not tell
    return names


def _open_devices() -> list[str]:
    paths = set()
    for fd in os.listdir("/proc/self/fd"):
        try:
            path = os.readlink("/proc/self/fd/" + fd)
        except OSError:
            continue  # the descriptor of listdir
        if path.startswith(_DEVICES):
            paths.add(path)
    return sorted(paths)


def _python_threads() -> dict[int, str]:
    """Return the names of Python's threads by their ids. Greenlets have none."""
    threading = sys.modules.get("threading")
    if threading is None or are_replaced():
        return {}
    return {t.native_id: _named(t) for t in threading.enumerate()}


def _named(thread: Any) -> str:
    """Return a thread's name, with the package whose function it runs if that is not Python's."""
    function = getattr(thread, "_target", None)
    module = getattr(function, "__module__", None) or type(thread).__module__
    package = module.partition(".")[0]
    if package in sys.stdlib_module_names or package == "__main__":
        return str(thread.name)
    return f"{thread.name} of {package}"


def _names(running: list[tuple[int, str, str]], known: dict[int, str]) -> list[str]:
    """Return names of threads: Python's if it started them, else the library's and the kernel's."""
    names: list[str] = []
    libraries: dict[str, list[str]] = {}
    for tid, name, path in running:
        name = "" if name == "px-preload" else name
        if tid not in known and path:
            libraries.setdefault(_library(path), []).append(name)
        else:
            names.append(known.get(tid) or name or "unnamed")
    for library, threads in libraries.items():
        named = ", ".join(sorted({name for name in threads if name}))
        names.append(f"{len(threads)} of {library}" + (f": {named}" if named else ""))
    return names


def _library(path: str) -> str:
    """Return a library's name by the end of its path: that of a module with its package."""
    folder, name = os.path.split(path)
    package = os.path.basename(folder)
    is_module = ".cpython-" in name or ".abi3." in name
    return f"{package}/{name}" if is_module and package != "site-packages" else name


def _reseed() -> None:
    """Seed NumPy's generator, as Python does its own: workers must draw different numbers."""
    seed = getattr(sys.modules.get("numpy.random"), "seed", None)
    if seed is not None:
        seed()
