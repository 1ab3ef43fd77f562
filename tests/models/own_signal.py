"""Models with a handler of their own for the signal that cancels predictions."""

import faulthandler
import os
import signal
import time

from cog import BaseRunner


class Runner(BaseRunner):
    def setup(self) -> None:
        if os.environ.get("BY") == "faulthandler":
            faulthandler.register(signal.SIGUSR1)
        else:
            signal.signal(signal.SIGUSR1, lambda number, frame: print("mine"))

    def run(self, wait: bool = False) -> str:
        os.kill(os.getpid(), signal.SIGUSR1)
        if wait:
            print("begun")
            time.sleep(1000)
        return "done"


class Async(Runner):
    async def run(self, wait: bool = False) -> str:
        return Runner.run(self, wait)
