"""Signals of the model's own: a time limit by SIGALRM, a handler for SIGUSR2, SIGCHLD of its children."""

import os
import signal
import time

from cog import BaseRunner

dumps: list[int] = []
signal.signal(signal.SIGUSR2, lambda number, _: dumps.append(number))


class TimeIsUp(Exception):
    pass


def on_alarm(number, frame):
    raise TimeIsUp(f"after {frame.f_code.co_name}")


class Runner(BaseRunner):
    def setup(self) -> None:
        signal.signal(signal.SIGALRM, on_alarm)
        self.children = 0
        signal.signal(signal.SIGCHLD, self.on_child)

    def on_child(self, number, frame) -> None:
        self.children += 1

    def run(self, limit: float, work: float) -> dict:
        signal.setitimer(signal.ITIMER_REAL, limit)
        try:
            time.sleep(work)
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
        os.kill(os.getpid(), signal.SIGUSR2)
        pid = os.posix_spawn("/bin/true", ["true"], os.environ)
        os.waitpid(pid, 0)
        until = time.monotonic() + 10
        while not self.children and time.monotonic() < until:  # another thread may get the signal first
            time.sleep(0.001)
        return {"dumps": len(dumps), "children": self.children}
