"""Waits in every way in which Python can wait; says what it saw of its cancelling."""

import ctypes
import os
import queue
import re
import select
import socket
import subprocess
import threading
import time
from typing import Iterator

from cog import BaseRunner, CancelationException


class Runner(BaseRunner):
    def setup(self) -> None:
        self.swallow = False

    def run(self, how: str = "nothing", token: str = "") -> str:
        try:
            getattr(self, how)()
        except CancelationException:
            print("canceled in", how)
            raise
        finally:
            print("finally", how)
        return f"{how} {token}"

    def begun(self) -> None:
        print("begun")

    def nothing(self) -> None:
        pass

    def loop(self) -> None:
        self.begun()
        while True:
            pass

    def sleep(self) -> None:
        self.begun()
        time.sleep(1000)

    def select(self) -> None:
        read, _ = os.pipe()
        self.begun()
        select.select([read], [], [])

    def poll(self) -> None:
        read, _ = os.pipe()
        poll = select.poll()
        poll.register(read)
        self.begun()
        poll.poll()

    def lock(self) -> None:
        lock = threading.Lock()
        lock.acquire()
        self.begun()
        lock.acquire()

    def event(self) -> None:
        self.begun()
        threading.Event().wait()

    def queue(self) -> None:
        self.begun()
        queue.Queue().get()

    def join(self) -> None:
        thread = threading.Thread(target=time.sleep, args=(1000,), daemon=True)
        thread.start()
        self.begun()
        thread.join()

    def future(self) -> None:
        from concurrent.futures import Future

        self.begun()
        Future().result()

    def recv(self) -> None:
        left, self.right = socket.socketpair()
        self.begun()
        left.recv(1)

    def accept(self) -> None:
        server = socket.create_server(("127.0.0.1", 0))
        self.begun()
        server.accept()

    def subprocess(self) -> None:
        begun = self.begun

        class Child(subprocess.Popen):  # tells of itself once it runs: a cancel before that leaves it behind
            def communicate(self, *args: object, **kwargs: object) -> object:
                begun()
                print("child", self.pid)
                return super().communicate(*args, **kwargs)

        popen, subprocess.Popen = subprocess.Popen, Child
        try:
            subprocess.run(["sleep", "1000"], check=True)
        finally:
            subprocess.Popen = popen

    def pipe(self) -> None:
        read, self.write = os.pipe()
        with os.fdopen(read) as file:
            self.begun()
            file.readline()

    def native(self) -> None:
        self.begun()
        ctypes.CDLL(None).sleep(1000)

    def regex(self) -> None:
        self.begun()
        re.match(r"(a+)+$", "a" * 64 + "b")

    def catching(self) -> None:
        """`except Exception` must not hold a cancel up."""
        self.begun()
        while True:
            try:
                time.sleep(0.001)
            except Exception:
                pass

    def generator(self) -> None:
        def forever():
            while True:
                yield 1

        self.begun()
        sum(forever())

    def bare_once(self) -> None:
        """Swallows the first one: the server asks again, before it kills the worker."""
        self.begun()
        try:
            time.sleep(1000)
        except BaseException:
            print("swallowed one")
        time.sleep(1000)

    def deleting(self) -> None:
        """What is raised in a __del__ goes no further: the server asks again."""

        class Slow:
            def __del__(slow) -> None:
                self.begun()
                time.sleep(1000)

        slow = Slow()
        del slow
        time.sleep(1000)

    def swallow_all(self) -> None:
        self.begun()
        while True:
            try:
                time.sleep(1000)
            except BaseException:
                pass

    def stuck(self) -> None:
        """C code that no signal ends: a lock that is taken already."""
        libc, mutex = ctypes.CDLL(None), ctypes.create_string_buffer(64)
        libc.pthread_mutex_lock(mutex)
        self.begun()
        libc.pthread_mutex_lock(mutex)

    def swallow_and_return(self) -> None:
        """A model that ends well in spite of it."""
        self.begun()
        try:
            time.sleep(1000)
        except BaseException:
            pass

    def other_error(self) -> None:
        self.begun()
        try:
            time.sleep(1000)
        except BaseException as error:
            raise ValueError("while cleaning up") from error


class Producer(BaseRunner):
    def run(self, n: int = 3) -> Iterator[int]:
        print("begun")
        try:
            for i in range(n):
                yield i
                if n > 1000:
                    time.sleep(0.001)
        finally:
            print("closed")
