"""What careless libraries do to the process: print replaced, random seeded, the recursion limit, the environment emptied."""

import builtins
import functools
import gc
import os
import random
import sys
import warnings

from cog import BaseRunner, Path

builtins.print = functools.partial(print, flush=True)
warnings.simplefilter("error")
sys.setrecursionlimit(5000)
sys.setswitchinterval(0.0001)
gc.disable()
random.seed(0)
original_open = open


class Runner(BaseRunner):
    def run(self, how: str = "") -> Path:
        if how == "environment":
            os.environ.clear()
        if how == "umask":
            os.umask(0o777)
        if how == "trace":
            calls: list = []
            sys.setprofile(lambda frame, event, arg: calls.append(event))
            len("")
            sys.setprofile(None)
            assert "c_call" in calls
        if how == "open":
            builtins.open = lambda *args, **kwargs: original_open(*args, **kwargs)
        print("flushed", how)
        out = Path(f"out {how}.txt")
        out.write_text(how)
        if how == "umask":
            os.umask(0o022)
            out.chmod(0o600)
        return out
