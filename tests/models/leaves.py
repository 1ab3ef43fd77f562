"""Leaves processes and shared memory behind."""

import multiprocessing
import os
import signal
import subprocess
import sys
import time
from multiprocessing import shared_memory

from cog import BaseRunner

QUIET = {"stdin": subprocess.DEVNULL, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
SLEEP = [sys.executable, "-S", "-c", "import time; time.sleep(1000)"]


def double_fork() -> int:
    """Start a daemon in the classic way; return its pid."""
    read, write = os.pipe()
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            os.write(write, str(os.getpid()).encode())
            for fd in range(3):
                os.close(fd)
            os.closerange(3, 256)
            while True:
                time.sleep(1000)
        os._exit(0)
    os.wait()
    return int(os.read(read, 100))


class Runner(BaseRunner):
    def setup(self) -> None:
        self.kept: list[object] = []

    def run(self, what: str = "", die: str = "") -> list[str]:
        found = [str(x) for x in (getattr(self, what)() if what else [])]
        print("left", *found)
        print("it is there", flush=True)
        if die == "wait":
            while True:
                try:
                    time.sleep(1000)
                except BaseException:
                    continue
        if die:
            os.kill(os.getpid(), getattr(signal, die))
            time.sleep(1000)
        return found

    def sessions(self) -> list[int]:
        processes = [
            subprocess.Popen(SLEEP, start_new_session=True),
            subprocess.Popen(SLEEP, start_new_session=True, env={}, **QUIET),
            subprocess.Popen(["setsid", *SLEEP], **QUIET),
            subprocess.Popen(["sh", "-c", "trap '' TERM HUP; sleep 1000 & sleep 1000"], start_new_session=True, **QUIET),
            subprocess.Popen(SLEEP, preexec_fn=os.setpgrp, **QUIET),
        ]
        self.kept += processes
        return [p.pid for p in processes] + [double_fork(), double_fork()]

    def shared(self) -> list[str]:
        memory = shared_memory.SharedMemory(create=True, size=1 << 16)
        lock = multiprocessing.get_context("spawn").Lock()
        context = multiprocessing.get_context("fork")
        child = context.Process(target=time.sleep, args=(1000,), daemon=True)
        child.start()
        self.kept += [memory, lock, child]
        return [memory.name.lstrip("/"), "sem." + lock._semlock.name.lstrip("/")]

    def starting_tracker(self) -> list[str]:
        """Start what removes a file when the worker has ended. It blocks SIGTERM, as trackers do while they start."""
        path = f"/dev/shm/pinion-test-{os.getpid()}"
        open(path, "w").close()
        read, write = os.pipe()
        code = f"import os, time; time.sleep(1.5); os.read({read}, 1); os.unlink({path!r})"
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})
        tracker = subprocess.Popen([sys.executable, "-S", "-c", code], pass_fds=[read], start_new_session=True, **QUIET)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGTERM})
        os.close(read)
        self.kept += [write, tracker]
        return [os.path.basename(path)]

    def joblib(self) -> list[str]:
        from joblib import Parallel, delayed
        from joblib.externals.loky.backend.resource_tracker import _resource_tracker

        Parallel(n_jobs=2, backend="loky")(delayed(abs)(i) for i in range(4))
        memory = shared_memory.SharedMemory(create=True, size=1 << 16)
        self.kept.append(memory)
        return [memory.name.lstrip("/")]
