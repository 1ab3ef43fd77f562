"""Predictions of a synchronous function that run at once, and meet."""

import ctypes
import os
import sqlite3
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Iterator

from cog import BaseRunner, Path, concurrent, current_scope, streaming

MEET = 4  # predictions


class Runner(BaseRunner):
    def setup(self) -> None:
        self.barrier = threading.Barrier(MEET)
        self.local = threading.local()
        self.pool = ThreadPoolExecutor(2)
        self.lock = threading.Lock()
        self.threads = set()

    def run(self, how: str = "value", token: str = "", gate: str = "") -> str:
        self.threads.add(threading.get_ident())
        if token:
            with open("ran.txt", "a") as file:
                file.write(token + "\n")
        if gate:
            print("waiting", token)
            with open(gate) as file:
                file.read()
        return getattr(self, how)(token)

    def value(self, token: str) -> str:
        return f"{os.getpid()} {token}"

    def meet(self, token: str) -> str:
        """Returns once as many are here as may run at once. All they print and record is their own."""
        print("begin", token)
        sys.stdout.write(f"half {token}, ")
        self.record_metric("token", token)
        self.barrier.wait()
        thread = threading.Thread(target=self.say, args=("thread", token))
        thread.start()
        thread.join()
        self.pool.submit(self.say, "pool", token).result()
        self.barrier.wait()
        print("end", token, file=sys.stderr)
        return f"{token} {current_scope()._values['token']}"

    def say(self, who: str, token: str) -> None:
        print(who, token)
        current_scope().record_metric(who, token)

    def kept(self, token: str) -> str:
        """What belongs to a thread stays with its slot."""
        if not hasattr(self.local, "database"):
            self.local.database = sqlite3.connect(":memory:")
            self.local.database.execute("create table t (n int)")
        self.local.database.execute("insert into t values (1)")
        self.barrier.wait()
        return str(self.local.database.execute("select count(*) from t").fetchone()[0])

    def sleep(self, token: str) -> str:
        print("begun")
        time.sleep(1000)
        return token

    def stuck(self, token: str) -> str:
        """C code that no signal ends: a lock that is taken already."""
        libc, mutex = ctypes.CDLL(None), ctypes.create_string_buffer(64)
        libc.pthread_mutex_lock(mutex)
        print("begun")
        libc.pthread_mutex_lock(mutex)
        return token

    def hog(self, token: str) -> str:
        """The same, with the GIL."""
        libc, mutex = ctypes.PyDLL(None), ctypes.create_string_buffer(64)
        libc.pthread_mutex_lock(mutex)
        print("begun", flush=True)
        libc.pthread_mutex_lock(mutex)
        return token

    def segfault(self, token: str) -> str:
        ctypes.string_at(0)
        return token

    def segfault_in_thread(self, token: str) -> str:
        thread = threading.Thread(target=ctypes.string_at, args=(0,))
        thread.start()
        thread.join()
        return token

    def exit_3(self, token: str) -> str:
        os._exit(3)

    def abort(self, token: str) -> str:
        os.abort()

    def killed(self, token: str) -> str:
        os.kill(os.getpid(), 9)
        return token

    def count(self, token: str) -> str:
        return f"{len(self.threads)} {threading.current_thread() is threading.main_thread()}"

    def fork(self, token: str) -> str:
        if os.fork() == 0:
            return "child"  # it does not answer
        os.wait()
        return token

    def signals(self, token: str) -> str:
        import signal

        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        return token


class Isolated(Runner):
    @concurrent(max=MEET, isolate=True)
    def run(self, how: str = "value", token: str = "", gate: str = "") -> str:
        return super().run(how, token, gate)


class Stream(BaseRunner):
    def setup(self) -> None:
        self.barrier = threading.Barrier(MEET)

    @streaming
    def run(self, token: str, n: int = 3) -> Iterator[str]:
        for i in range(n):
            print("item", i, token)
            self.barrier.wait()
            yield f"{token} {i}"


class Files(BaseRunner):
    def setup(self) -> None:
        self.barrier = threading.Barrier(MEET)

    def run(self, file: Path, token: str) -> Path:
        text = file.read_text()
        self.barrier.wait()
        out = Path(f"/tmp/{os.getpid()}-{token}.txt")
        out.write_text(f"{text} {token}")
        return out


running = 0


class Trained(BaseRunner):
    """Tells how many predictions ran when a training did."""

    def setup(self) -> None:
        self.barrier = threading.Barrier(MEET)

    def run(self, token: str, gate: str = "") -> str:
        global running
        running += 1
        if gate:
            print("waiting", token)
            with open(gate) as file:
                file.read()
        running -= 1
        return token


def train(n: int) -> str:
    print("training")
    most = 0
    for _ in range(n):
        most = max(most, running)
        time.sleep(0.001)
    return f"beside {most}"
