"""A module that forks while it is imported."""

import os

from cog import BaseRunner

pid = os.fork()
if pid:
    os.waitpid(pid, 0)


class Runner(BaseRunner):
    def setup(self) -> None:
        print("set up by", "the worker" if pid else "the child")

    def run(self) -> None:
        pass
