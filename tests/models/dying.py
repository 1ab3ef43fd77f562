"""Ends its process in several ways, and counts what it ran."""

import ctypes
import os
import resource
import signal
import socket
import sys
import threading

from cog import BaseRunner


class Runner(BaseRunner):
    def run(self, how: str = "", token: str = "", gate: str = "") -> str:
        if token:
            with open("ran.txt", "a") as file:
                file.write(token + "\n")
        if gate:
            print("waiting", token)
            with open(gate) as file:  # a named pipe: opens when the test does
                file.read()
        if how:
            print("dying", how)
            getattr(self, how)()
        return f"{os.getpid()} {token}"

    def segfault(self) -> None:
        ctypes.string_at(0)

    def segfault_in_thread(self) -> None:
        thread = threading.Thread(target=self.segfault)
        thread.start()
        thread.join()

    def abort(self) -> None:
        os.abort()

    def fpe(self) -> None:
        os.kill(os.getpid(), signal.SIGFPE)
        signal.pause()

    def bus(self) -> None:
        os.kill(os.getpid(), signal.SIGBUS)
        signal.pause()

    def exit_3(self) -> None:
        os._exit(3)

    def exit_0(self) -> None:
        os._exit(0)

    def terminate(self) -> None:
        os.kill(os.getpid(), signal.SIGTERM)
        signal.pause()

    def outside(self) -> None:
        print("pid", os.getpid())
        signal.pause()

    def shut_control(self) -> None:
        for name in os.listdir("/proc/self/fd"):
            try:
                other = socket.socket(fileno=os.dup(int(name)))
            except OSError:
                continue
            other.shutdown(socket.SHUT_RDWR)
        signal.pause()

    def use_up_cpu(self) -> None:
        resource.setrlimit(resource.RLIMIT_CPU, (1, 1))
        while True:
            pass

    def use_up_soft_cpu(self) -> None:
        resource.setrlimit(resource.RLIMIT_CPU, (1, 100))
        while True:
            pass

    def limit_files(self) -> None:
        resource.setrlimit(resource.RLIMIT_NOFILE, (0, 0))

    def limit_memory(self) -> None:
        resource.setrlimit(resource.RLIMIT_AS, (1 << 20, 1 << 20))
        os._exit(3)

    def kill_itself(self) -> None:
        os.kill(os.getpid(), signal.SIGKILL)
        signal.pause()

    def close_everything(self) -> None:
        os.closerange(3, 1024)
        signal.pause()

    def with_children(self) -> None:
        import subprocess

        child = subprocess.Popen(["sleep", "1000"])
        print("child", child.pid)
        sys.stdout.flush()
        os.abort()


class Async(BaseRunner):
    async def run(self, close: bool = False) -> str:
        import asyncio

        print("begun")
        if close:
            os.closerange(3, 1024)
        await asyncio.sleep(1000)
        return "done"


class Limited(Async):
    async def setup(self) -> None:
        resource.setrlimit(resource.RLIMIT_AS, (1 << 20, 1 << 20))
        self.kept: list[bytearray] = []
        for size in (1 << 20, 1 << 17, 1 << 14):
            try:
                while True:
                    self.kept.append(bytearray(size))
            except MemoryError:
                pass
