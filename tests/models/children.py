"""Processes and threads that models start."""

import multiprocessing
import os
import pickle
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor

from cog import BaseRunner


class Item:
    """Goes through pickle in both directions."""

    def __init__(self, n: int) -> None:
        self.n = n


def double(item: Item) -> Item:
    return Item(item.n * 2)


def square(n: int) -> int:
    return n * n


def worker_cog(_: int) -> str:
    from cog import BaseRunner as runner

    return runner.__module__


def loader_loop(tasks, results) -> None:
    """As a DataLoader's worker: takes indices from one queue, puts batches into another."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    for n in iter(tasks.get, None):
        results.put((n, [square(n), os.getppid()]))


def sleeper() -> None:
    time.sleep(1000)


class Runner(BaseRunner):
    def setup(self) -> None:
        self.answers = 0

    def run(self, what: str, method: str = "fork") -> object:
        self.answers += 1
        return getattr(self, what)(method)

    def pool(self, method: str) -> list:
        with multiprocessing.get_context(method).Pool(2) as pool:
            return [item.n for item in pool.map(double, [Item(n) for n in range(5)])]

    def executor(self, method: str) -> list:
        context = multiprocessing.get_context(method)
        with ProcessPoolExecutor(2, mp_context=context) as pool:
            return [*pool.map(square, range(4)), pool.submit(worker_cog, 0).result()]

    def process(self, method: str) -> list:
        """Terminating a child must work: it has no handler of ours that swallows the signal."""
        child = multiprocessing.get_context(method).Process(target=sleeper)
        child.start()
        child.terminate()
        child.join()
        return [child.exitcode]

    def loader(self, method: str) -> list:
        context = multiprocessing.get_context(method)
        tasks, results = context.Queue(), context.Queue()
        workers = [context.Process(target=loader_loop, args=(tasks, results), daemon=True) for _ in range(2)]
        for worker in workers:
            worker.start()
        for n in range(8):
            tasks.put(n)
        got = dict(results.get() for _ in range(8))
        for _ in workers:
            tasks.put(None)
        for worker in workers:
            worker.join()
        return [sorted(n for n, _ in got.values()), {parent for _, parent in got.values()} == {os.getpid()} or method != "fork"]

    def pool_workers(self, method: str) -> int:
        """Workers that stay from one prediction to the next."""
        if not hasattr(self, "kept_pool"):
            self.kept_pool = ProcessPoolExecutor(1, mp_context=multiprocessing.get_context(method))
        return self.kept_pool.submit(os.getpid).result()

    def manager(self, method: str) -> list:
        with multiprocessing.get_context(method).Manager() as manager:
            shared = manager.list([1])
            shared.append(2)
            return list(shared)

    def subprocess(self, _: str) -> list:
        code = "import cog, sys; print(cog.__file__); print(sys.prefix); print(sys.executable)"
        out = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout.split()
        import cog

        return [out[0] == cog.__file__, out[1] == sys.prefix, out[2] == sys.executable]

    def preexec(self, _: str) -> str:
        return subprocess.run(["echo", "ran"], preexec_fn=os.getpid, capture_output=True, text=True).stdout

    def spawn(self, _: str) -> int:
        pid = os.posix_spawn("/bin/sh", ["sh", "-c", "exit 7"], os.environ)
        return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])

    def pty(self, _: str) -> str:
        import pty

        pid, fd = pty.fork()
        if pid == 0:
            os.execvp("echo", ["echo", "from a terminal"])
        text = os.read(fd, 100).decode().strip()
        os.waitpid(pid, 0)
        return text

    def returning(self, _: str) -> str:
        """A forked child that comes back from here must not answer."""
        pid = os.fork()
        if pid == 0:
            return "child"
        _, status = os.waitpid(pid, 0)
        return f"parent {os.waitstatus_to_exitcode(status)}"

    def raising(self, _: str) -> str:
        pid = os.fork()
        if pid == 0:
            raise ValueError("in the child")
        _, status = os.waitpid(pid, 0)
        return f"parent {os.waitstatus_to_exitcode(status)}"

    def leaving(self, _: str) -> str:
        pid = os.fork()
        if pid == 0:
            sys.exit(5)
        _, status = os.waitpid(pid, 0)
        return f"parent {os.waitstatus_to_exitcode(status)}"

    def forked_work(self, _: str) -> list:
        """A child with threads, subprocesses and signal handlers."""
        read, write = os.pipe()
        pid = os.fork()
        if pid == 0:
            got: list = []
            thread = threading.Thread(target=lambda: got.append("thread"))
            thread.start()
            thread.join()
            got.append(subprocess.run(["echo", "sub"], capture_output=True, text=True).stdout.strip())
            signal.signal(signal.SIGUSR2, lambda *_: got.append("signal"))
            os.kill(os.getpid(), signal.SIGUSR2)
            os.kill(os.getpid(), signal.SIGURG)
            os.write(write, pickle.dumps(got))
            os._exit(0)
        os.close(write)
        with os.fdopen(read, "rb") as file:
            data = file.read()
        os.waitpid(pid, 0)
        return pickle.loads(data)

    def crashing(self, _: str) -> int:
        """A child's fault is the child's."""
        import ctypes

        pid = os.fork()
        if pid == 0:
            ctypes.string_at(0)
        return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])

    def many_forks(self, _: str) -> int:
        for _ in range(50):
            pid = os.fork()
            if pid == 0:
                os._exit(0)
            os.waitpid(pid, 0)
        return 50

    def daemon(self, _: str) -> int:
        """A double fork with a new session: outlives the prediction and the worker."""
        read, write = os.pipe()
        pid = os.fork()
        if pid == 0:
            os.setsid()
            if os.fork() == 0:
                os.close(read)
                os.write(write, str(os.getpid()).encode())
                os.close(write)
                time.sleep(1000)
                os._exit(0)
            os._exit(0)
        os.close(write)
        os.waitpid(pid, 0)
        with os.fdopen(read) as file:
            return int(file.read())

    def background(self, _: str) -> int:
        """A child that is simply left behind."""
        return subprocess.Popen(["sleep", "1000"]).pid

    def threads(self, _: str) -> list:
        with ThreadPoolExecutor(4) as pool:
            return list(pool.map(square, range(5)))

    def count(self, _: str) -> int:
        return self.answers
