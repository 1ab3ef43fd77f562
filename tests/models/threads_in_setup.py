"""A model whose setup starts threads."""

import os
import threading

from cog import BaseRunner


class Runner(BaseRunner):
    def setup(self) -> None:
        self.end = threading.Event()
        for _ in range(int(os.environ["THREADS"])):
            threading.Thread(target=self.end.wait, daemon=True).start()

    def run(self) -> str:
        return "done"
