"""What outlives the prediction that started it, and writes while another one runs.

A prediction with `start` starts such a thing. The next one lets all of them write, and waits until they have.
"""

import asyncio
import ctypes
import multiprocessing
import multiprocessing.pool
import os
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor

from cog import BaseRunner

sleepers = []
libc = ctypes.CDLL(None)
native = ctypes.CDLL(os.environ["LEFTOVER"]) if "LEFTOVER" in os.environ else None  # leftover.c
WAIT = "while [ ! -e go ]; do sleep 0.01; done; "
SAY = WAIT + "echo a leftover says; echo a leftover complains >&2; : >done"


def wait(name: str) -> None:
    while not os.path.exists(name):
        time.sleep(0.005)


def say() -> None:
    """As a leftover thread in Python does it."""
    wait("go")
    print("a leftover says")
    print("a leftover complains", file=sys.stderr)
    print("a leftover's line without an end", end="")
    sys.stdout.flush()
    open("done", "w").close()


def say_in_bytes() -> None:
    """As say, around the text streams."""
    wait("go")
    sys.stdout.buffer.write(b"a leftover says\n")
    sys.stdout.buffer.flush()
    os.writev(2, [b"a leftover ", b"complains\n"])
    os.write(1, b"a leftover's line without an end")
    open("done", "w").close()


def say_in_raw_files() -> None:
    """As say, with file objects of the thread's own."""
    wait("go")
    with open(1, "wb", closefd=False) as out, os.fdopen(os.dup(2), "w") as err:
        out.write(b"a leftover says\n")
        err.write("a leftover complains\n")
    with open("/dev/fd/1", "wb", buffering=0) as out:
        out.write(b"a leftover's line without an end")
    open("done", "w").close()


def write_raw(text: bytes) -> None:
    libc.write(1, text, len(text))


def spawn_late() -> None:
    """A thread whose child begins while another prediction runs."""
    wait("go")
    subprocess.run(["sh", "-c", SAY], check=True)


def fork(function) -> None:
    if os.fork() == 0:
        function()
        os._exit(0)


class Starts:
    def thread_of_bytes(self) -> None:
        threading.Thread(target=say_in_bytes).start()

    def thread_of_raw_files(self) -> None:
        threading.Thread(target=say_in_raw_files).start()

    def thread_of_native_code(self) -> None:
        threading.Thread(target=native.say).start()

    def thread_of_stdio(self) -> None:
        threading.Thread(target=native.say_by_stdio).start()

    def setups_pool_of_native_code(self) -> None:
        self.executor.submit(native.say)

    def native_thread(self) -> None:
        native.start()

    def native_thread_of_a_thread(self) -> None:
        threading.Thread(target=native.start).start()

    def thread_of_a_shell(self) -> None:
        threading.Thread(target=lambda: os.system(SAY)).start()

    def thread(self) -> None:
        threading.Thread(target=say).start()

    def thread_of_a_thread(self) -> None:
        threading.Thread(target=lambda: threading.Thread(target=say).start()).start()

    def pool(self) -> None:
        ThreadPoolExecutor(1).submit(say)

    def setups_pool(self) -> None:
        self.executor.submit(say)

    def thread_pool(self) -> None:
        self.threads.apply_async(say)

    def thread_pools_map(self) -> None:
        self.threads.imap(lambda _: say(), [1])

    def popen(self) -> None:
        subprocess.Popen(["sh", "-c", SAY])

    def popen_in_a_session(self) -> None:
        subprocess.Popen(["sh", "-c", SAY], start_new_session=True, close_fds=False)

    def system(self) -> None:
        os.system(f"({SAY}) &")

    def posix_spawn(self) -> None:
        os.posix_spawn("/bin/sh", ["sh", "-c", SAY], os.environ)

    def os_popen(self) -> None:
        os.popen(f"({SAY}) >&2 &").close()

    def c_popen(self) -> None:
        libc.pclose.argtypes = [ctypes.c_void_p]
        libc.popen.restype = ctypes.c_void_p
        libc.pclose(libc.popen(f"({SAY}) &".encode(), b"w"))

    def os_fork(self) -> None:
        fork(say)

    def double_fork(self) -> None:
        pid = os.fork()
        if pid == 0:
            os.setsid()
            fork(say)
            os._exit(0)
        os.waitpid(pid, 0)

    def forked_process(self) -> None:
        multiprocessing.get_context("fork").Process(target=say).start()

    def spawned_process(self) -> None:
        multiprocessing.get_context("spawn").Process(target=say).start()

    def forkserver_process(self) -> None:
        multiprocessing.get_context("forkserver").Process(target=say).start()

    def sleeper(self) -> None:
        sleepers.append(subprocess.Popen(["sleep", "1000"]))

    def wake_sleepers(self) -> None:
        while sleepers:
            sleepers[-1].kill()
            sleepers.pop().wait()

    def thread_that_spawns(self) -> None:
        threading.Thread(target=spawn_late).start()

    def thread_that_forks(self) -> None:
        threading.Thread(target=lambda: (wait("go"), fork(say))).start()


class Runner(BaseRunner, Starts):
    def setup(self) -> None:
        self.executor = ThreadPoolExecutor(1)
        self.executor.submit(int).result()
        self.threads = multiprocessing.pool.ThreadPool(1)

    def run(self, start: str = "") -> str:
        if start:
            return self.begin(start)
        print("mine")
        os.write(1, b"raw\n")
        print("begun,", end=" ")
        open("go", "w").close()
        wait("done")
        print("ended")
        return self.end()

    def begin(self, start: str) -> str:
        for name in ("go", "done"):
            if os.path.exists(name):
                os.remove(name)
        print("starts", start)
        subprocess.run(["echo", "in between"], check=True)
        getattr(self, start)()
        os.write(1, b"raw start\n")
        return start

    def end(self) -> str:
        thread = threading.Thread(target=write_raw, args=[b"my thread's\n"])
        thread.start()
        thread.join()
        subprocess.run(["echo", "my child's"], check=True)
        libc.puts(b"C's")
        libc.fflush(None)
        self.executor.submit(write_raw, b"my pool's\n").result()
        print("mine, last")
        return "done"


class Async(Runner):
    async def run(self, start: str = "") -> str:
        if start:
            return self.begin(start)
        print("mine")
        os.write(1, b"raw\n")
        print("begun,", end=" ")
        open("go", "w").close()
        while not os.path.exists("done"):
            await asyncio.sleep(0.005)
        print("ended")
        return self.end()

    def task(self) -> None:
        self.task = asyncio.create_task(asyncio.to_thread(say))

    def task_that_spawns(self) -> None:
        self.task = asyncio.create_task(self.spawn_late())

    async def spawn_late(self) -> None:
        while not os.path.exists("go"):
            await asyncio.sleep(0.005)
        child = await asyncio.create_subprocess_exec("sh", "-c", SAY)
        await child.wait()


class Writing(BaseRunner):
    """A native thread that writes without a pause, from one prediction into the next."""

    def run(self, n: int) -> int:
        if n % 2 == 0:
            native.start_writing(n % 4)  # by C's stdio, or by write
            time.sleep(0.002)
        else:
            print("mine")
            native.stop_writing()
        return n


class Crashing(Runner):
    def run(self) -> None:
        print("before")
        subprocess.run(["sh", "-c", "echo of a child; sleep 1000 &"], check=True)
        print("after")
        ctypes.string_at(0)


class Setups(Runner):
    """Children of setup work for every prediction."""

    def setup(self) -> None:
        super().setup()
        self.child = subprocess.Popen(["sh", "-c", "while read line; do echo of setup: $line; : >said; done"], stdin=subprocess.PIPE)

    def run(self, start: str = "") -> str:
        if start:
            return self.begin(start)
        if os.path.exists("said"):
            os.remove("said")
        self.child.stdin.write(b"hello\n")
        self.child.stdin.flush()
        wait("said")
        return "done"
