"""Weights that were pickled by a training script, whose classes lie in `__main__`; and code that reads its own source."""

import inspect
import pickle
import sys
import typing

import __main__
from cog import BaseRunner, Input


class Net:
    def __init__(self, size: int = 0) -> None:
        self.size = size


__main__.Net = Net  # where the pickle looks for it
WEIGHTS = b"\x80\x04c__main__\nNet\n)\x81}\x8c\x04sizeK*sb."


class Runner(BaseRunner):
    def setup(self) -> None:
        self.net = pickle.loads(WEIGHTS)

    def run(self, x: int = Input(default=1, ge=0)) -> dict:
        return {
            "size": self.net.size * x,
            "source": inspect.getsource(Net).splitlines()[0],
            "file": inspect.getsourcefile(Net) == __file__,
            "hints": sorted(typing.get_type_hints(self.run)),
            "name": [__name__, sys.modules[__name__].__name__, Net.__module__],
            "main": __main__.__name__,
        }
