"""Async functions whose work runs in threads, and the look of what the SDK replaces for that."""

import _thread
import asyncio
import concurrent.futures
import inspect
import multiprocessing.pool  # noqa: F401
import os
import pickle
import threading
from contextvars import ContextVar

from cog import BaseRunner

PLACES = {
    "threading": ("Thread.start", "Thread.run", "_start_new_thread", "_start_joinable_thread"),
    "_thread": ("start_new_thread", "start_joinable_thread"),
    "concurrent.futures": ("ThreadPoolExecutor.submit",),
    "multiprocessing.pool": (
        "ThreadPool.apply_async", "ThreadPool.map_async", "ThreadPool._map_async", "ThreadPool.imap", "Pool.imap_unordered",
    ),
    "os": ("write", "writev", "system", "fork"),
    "sys": ("stdout.__class__", "stderr.__class__", "unraisablehook", "excepthook"),
    "logging": ("StreamHandler.emit",),
    "subprocess": ("Popen.__init__", "run"),
}


def describe(module: str, path: str) -> "list[object] | None":
    """What a program can see of a function or class."""
    found: object = __import__(module, fromlist=["*"])
    for name in path.split("."):
        found = getattr(found, name, None)
        if found is None:
            return None
    try:
        signature = str(inspect.signature(found))
    except (ValueError, TypeError):
        signature = ""
    try:
        pickled = isinstance(found, type) or pickle.loads(pickle.dumps(found)) is found
    except Exception as error:
        pickled = type(error).__name__
    names = ("__name__", "__qualname__", "__module__", "__doc__")
    return [
        type(found).__name__,
        signature,
        pickled,
        hasattr(found, "__get__"),
        *(repr(getattr(found, name, None)) for name in names),
        repr(getattr(getattr(found, "__self__", None), "__name__", None)),
        hasattr(found, "__wrapped__"),
        repr(getattr(found, "__defaults__", None)),
        source_of(found),
    ]


def source_of(found: object) -> str:
    try:
        return inspect.getsource(found)  # type: ignore[arg-type]
    except (TypeError, OSError) as error:
        return type(error).__name__


def look() -> "dict[str, object]":
    return {f"{module}.{path}": describe(module, path) for module in PLACES for path in PLACES[module]}


variable: "ContextVar[str]" = ContextVar("variable", default="none")


class Subclassed(threading.Thread):
    def run(self) -> None:
        print("subclassed", variable.get())


class Async(BaseRunner):
    async def run(self, what: str = "threads") -> object:
        if what == "look":
            return look()
        variable.set("mine")
        print("to_thread", await asyncio.to_thread(variable.get))
        with concurrent.futures.ThreadPoolExecutor() as pool:
            print("pool", pool.submit(variable.get).result())
        thread = Subclassed()
        thread.start()
        thread.join()
        thread = threading.Thread(target=lambda: print("target", variable.get()))
        thread.start()
        thread.join()
        done = threading.Event()
        _thread.start_new_thread(lambda: (print("raw", variable.get()), done.set()), ())
        done.wait()
        return "run" in vars(thread)


class Sync(BaseRunner):
    def run(self) -> object:
        thread = threading.Thread(target=print, args=("from a thread",))
        thread.start()
        thread.join()
        return look()


if __name__ == "__main__":
    import json
    import sys

    print(json.dumps(look()), file=sys.__stdout__)
