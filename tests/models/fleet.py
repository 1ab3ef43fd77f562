"""Tells of the process that serves it, and gets into several kinds of trouble."""

import ctypes
import os
import signal
import time

from cog import BaseRunner

GENERATION = 1  # a test changes it in the file

memory = []


class Runner(BaseRunner):
    def setup(self) -> None:
        born = 1
        while True:
            try:
                os.close(os.open(f"born.{born}", os.O_CREAT | os.O_EXCL))
                break
            except FileExistsError:
                born += 1
        if os.path.exists("broken.txt") or f"{born}" in os.environ.get("FAIL_BIRTHS", "").split(","):
            raise RuntimeError("it cannot be set up today")
        self.gpus = os.environ.get("CUDA_VISIBLE_DEVICES", "all")

    def run(self, do: str = "", token: str = "", gate: str = "") -> str:
        if token:
            with open("ran.txt", "a") as file:
                file.write(token + "\n")
        if gate:
            print("waiting", token)
            with open(gate) as file:  # a named pipe: opens when the test does
                file.read()
        if do:
            getattr(self, do)()
        return f"{os.getpid()} {GENERATION} {self.gpus}"

    def kill(self) -> None:
        os.kill(os.getpid(), signal.SIGKILL)

    def sleep(self) -> None:
        time.sleep(1000)

    def compute(self) -> None:
        ctypes.PyDLL(None).sleep(3)  # in C, with Python's lock held

    def swallow(self) -> None:
        while True:
            try:
                time.sleep(1000)
            except BaseException:
                pass

    def grow(self) -> None:
        memory.append(bytearray(os.urandom(1 << 20) * 200))

    def grow_without_end(self) -> None:
        while True:
            self.grow()

    def lose_gpu(self) -> None:
        raise RuntimeError("CUDA error: an illegal memory access was encountered\nCUDA kernel errors might be …")

    def orphan(self) -> None:
        if os.fork() == 0:
            os.setsid()
            if os.fork() == 0:
                time.sleep(0.01)
            os._exit(0)
        os.wait()
