"""The work on Pinion; WORK says which."""

import os

from cog import BaseRunner
from work import WORK


class Runner(BaseRunner):
    def setup(self) -> None:
        self.work = WORK[os.environ["WORK"]]()

    def run(self, x: int) -> int:
        return self.work(x)
