"""A model whose import is slow, counted, and what the environment says."""

import atexit
import ctypes
import multiprocessing
import os
import random
import signal
import subprocess
import sys
import threading
import time
from typing import Any

from cog import BaseRunner

GENERATION = 1  # a test changes it in the file

if "IMPORTS" in os.environ:  # the file that counts them
    with open(os.environ["IMPORTS"], "a") as file:
        file.write(f"{os.getpid()}\n")
print("importing")
print("imported", file=sys.stderr)
time.sleep(0.3)
drawn = random.random()

at_import = os.environ.get("AT_IMPORT", "")
if at_import == "raise":
    raise RuntimeError("it cannot be imported today")
if at_import == "thread":
    threading.Thread(target=time.sleep, args=(1000,), name="watcher", daemon=True).start()
if at_import == "native thread":  # one that Python knows nothing of
    libc = ctypes.CDLL(None)
    thread = ctypes.c_ulong()
    libc.pthread_create(ctypes.byref(thread), None, ctypes.cast(libc.sleep, ctypes.c_void_p), ctypes.c_void_p(1000))
    libc.pthread_setname_np(thread, b"tokio-rt")
if at_import == "passing thread":  # gone when the import is over
    passing = threading.Thread(target=time.sleep, args=(0,))
    passing.start()
    passing.join()
if at_import == "thread that ends before a fork":
    go_on = threading.Event()
    tending = threading.Thread(target=go_on.wait)
    tending.start()

    def before_fork() -> None:
        go_on.set()
        tending.join()

    os.register_at_fork(before=before_fork)
if at_import == "cuda":
    ctypes.CDLL(os.environ["FAKE_CUDA"]).cuInit(0)
if at_import == "fork":
    if os.fork() == 0:
        raise SystemExit(0)
    os.wait()
if at_import == "process":
    import subprocess

    kept = subprocess.Popen(["cat"], stdin=subprocess.PIPE)
if at_import == "exit":
    os._exit(3)
if at_import == "handle children":
    signal.signal(signal.SIGCHLD, lambda *_: None)


def square(n: int) -> int:
    return n * n


class Runner(BaseRunner):
    def setup(self) -> None:
        with open("set-up.txt", "a") as file:
            file.write(f"{os.getpid()}\n")
        print("setting up")
        atexit.register(self.leave)

    def leave(self) -> None:
        with open("left.txt", "a") as file:
            file.write(f"{os.getpid()}\n")

    def run(self, what: str = "pid") -> Any:
        return getattr(self, what)()

    def pid(self) -> int:
        return os.getpid()

    def generation(self) -> int:
        return GENERATION

    def gpus(self) -> str:
        return os.environ.get("CUDA_VISIBLE_DEVICES", "all")

    def numbers(self) -> list:
        return [drawn, random.random()]

    def speak(self) -> None:
        os.write(1, b"to the descriptor\n")
        print("to stdout")
        print("to stderr", file=sys.stderr)

    def sleep(self) -> None:
        print("sleeping in", os.getpid())
        time.sleep(1000)

    def crash(self) -> None:
        ctypes.string_at(0)

    def exit(self) -> None:
        os._exit(4)

    def place(self) -> dict:
        """What a process is to others and to itself."""
        return {
            "parent": os.getppid(),
            "group": os.getpgrp() == os.getpid(),
            "main": threading.current_thread() is threading.main_thread(),
            "threads": [t.name for t in threading.enumerate()],
            "native": threading.get_native_id() == os.getpid(),
            "argv": sys.argv,
            "title": open("/proc/self/cmdline").read().strip("\0"),
            "template": open("/proc/self/comm").read() == "px-preload\n",
        }

    def children(self) -> list:
        found = []
        for method in ("fork", "spawn", "forkserver"):
            with multiprocessing.get_context(method).Pool(2) as pool:
                found.append(pool.map(square, range(4)))
        found.append(subprocess.run([sys.executable, "-c", "print(7)"], capture_output=True, text=True).stdout)
        thread = threading.Thread(target=found.append, args=("thread",))
        thread.start()
        thread.join()
        return found


class Async(Runner):
    async def run(self, what: str = "pid") -> Any:
        import asyncio

        if what == "sleep":
            print("sleeping in", os.getpid())
            await asyncio.sleep(1000)
        return getattr(self, what)()
