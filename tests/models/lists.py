"""More ways to wait, and more ways to write, than blocking.py and printing.py have."""

import contextlib
import ctypes
import fcntl
import os
import socket
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request

from cog import BaseRunner, CancelationException

libc = ctypes.CDLL(None)


def begun() -> None:
    print("begun")


class Waits(BaseRunner):
    def run(self, how: str = "nothing") -> str:
        try:
            getattr(self, how)()
        except CancelationException:
            print("canceled in", how)
            raise
        finally:
            print("finally", how)
        return how

    def nothing(self) -> None:
        pass

    def input_on_a_pipe(self) -> None:
        read, self.write = os.pipe()
        saved = sys.stdin
        sys.stdin = os.fdopen(read)
        try:
            begun()
            input("prompt> ")
        finally:
            sys.stdin = saved

    def numpy_loop(self) -> None:
        import numpy

        array = numpy.ones((64, 64), dtype="f4")
        begun()
        while True:
            array = numpy.tanh(array @ array)

    def condition(self) -> None:
        condition = threading.Condition()
        begun()
        with condition:
            condition.wait_for(lambda: False)

    def semaphore(self) -> None:
        begun()
        threading.Semaphore(0).acquire()

    def lock_with_timeout(self) -> None:
        lock = threading.RLock()
        thread = threading.Thread(target=lock.acquire)
        thread.start()
        thread.join()
        begun()
        while not lock.acquire(timeout=1000):
            pass

    def wait_for_a_child(self) -> None:
        pid = os.posix_spawn("/bin/sleep", ["sleep", "1000"], os.environ)
        begun()
        try:
            os.waitpid(pid, 0)
        finally:
            os.kill(pid, 9)
            os.waitpid(pid, 0)

    def communicate(self) -> None:
        with subprocess.Popen(["sleep", "1000"], stdout=subprocess.PIPE, stderr=subprocess.PIPE) as child:
            begun()
            try:
                child.communicate()
            finally:
                child.kill()

    def open_a_fifo(self) -> None:
        path = tempfile.mktemp()
        os.mkfifo(path)
        begun()
        try:
            open(path)
        finally:
            os.unlink(path)

    def file_lock(self) -> None:
        with tempfile.NamedTemporaryFile() as mine, open(mine.name) as other:
            fcntl.flock(mine, fcntl.LOCK_EX)
            begun()
            fcntl.flock(other, fcntl.LOCK_EX)

    def http(self) -> None:
        """A server that accepts and never answers."""
        with socket.create_server(("127.0.0.1", 0)) as server:
            begun()
            opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
            opener.open(f"http://127.0.0.1:{server.getsockname()[1]}/")

    def c_poll(self) -> None:
        begun()
        libc.poll(None, 0, -1)

    def inner_loop(self) -> None:
        import asyncio

        async def wait() -> None:
            begun()
            await asyncio.sleep(1000)

        try:
            asyncio.run(wait())
        except asyncio.CancelledError:  # the cancel came while the task still ran
            raise CancelationException from None

    def suppressed(self) -> None:
        begun()
        while True:
            with contextlib.suppress(Exception):
                time.sleep(0.001)
                raise ValueError("suppressed")

    def in_finally(self) -> None:
        """It is the handler of an error that waits."""
        try:
            raise ValueError("first")
        except ValueError:
            begun()
            time.sleep(1000)

    def in_del(self) -> None:
        """Raised in a destructor it would be lost: the server asks once more."""

        class Slow:
            def __del__(self) -> None:
                begun()
                time.sleep(0.3)

        Slow()
        time.sleep(1000)


class Writes(BaseRunner):
    def run(self, what: str, n: int = 1) -> str:
        getattr(self, what)(n)
        return "done"

    def progress(self, n: int) -> None:
        for i in range(n):
            print(f"\r{i + 1}/{n}", end="", file=sys.stderr, flush=True)
            print("line", i)
        print(file=sys.stderr)

    def partial(self, n: int) -> None:
        """Parts of a line from four writers."""
        print("a", end="")
        sys.stdout.flush()
        os.write(1, b"b")
        libc.printf(b"c")
        libc.fflush(None)
        subprocess.run(["printf", "d"], check=True)
        print("e")
        print("no end", end="")

    def split_character(self, n: int) -> None:
        """A character that comes in two writes, and one that never becomes whole."""
        for part in (b"\xe2\x82", b"\xac ", b"\xf0\x9f", b"\x98\x80\n", b"\xe2\x82"):
            os.write(1, part)
            time.sleep(0.002)

    def threads(self, n: int) -> None:
        turn = threading.Semaphore(1)
        turns = [threading.Semaphore(0) for _ in range(3)]

        def write(number: int) -> None:
            for i in range(n):
                turns[number].acquire()
                print("thread", number, i, file=(sys.stdout, sys.stderr)[i % 2])
                turns[(number + 1) % 3].release()

        started = [threading.Thread(target=write, args=(i,)) for i in range(3)]
        for thread in started:
            thread.start()
        turns[0].release()
        for thread in started:
            thread.join()
        turn.release()

    def captured_descriptor(self, n: int) -> None:
        """Native output caught by putting a file in the place of descriptor 1, and back."""
        print("before", flush=True)
        saved = os.dup(1)
        with tempfile.TemporaryFile() as file:
            os.dup2(file.fileno(), 1)
            try:
                os.write(1, b"native\n")
                print("python", flush=True)
            finally:
                os.dup2(saved, 1)
                os.close(saved)
            file.seek(0)
            print("caught", file.read())

    def nowhere(self, n: int) -> None:
        saved = sys.stdout
        with open(os.devnull, "w") as sys.stdout:
            print("not to be seen")
        sys.stdout = saved
        print("seen")

    def closed_descriptor(self, n: int) -> None:
        """What is written after stderr's descriptor was closed has nowhere to go, and nothing breaks."""
        saved = os.dup(2)
        os.close(2)
        try:
            with contextlib.suppress(OSError):
                os.write(2, b"lost")
            print("stdout is there")
        finally:
            os.dup2(saved, 2)
            os.close(saved)

    def flood(self, n: int) -> None:
        """n times 10 kB."""
        text = "x" * 9990
        for i in range(n):
            sys.stdout.write(f"{i:08} {text}\n")
