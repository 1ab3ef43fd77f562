"""Recursion: as deep as Python allows by default, deeper by the model's own wish, and without end."""

import sys
import threading

from cog import BaseRunner


def depth(n: int) -> int:
    return 0 if n == 0 else 1 + depth(n - 1)


def endless(n: int) -> int:
    return endless(n + 1) + 1


class Runner(BaseRunner):
    def run(self, n: int, endless_too: bool = False) -> int:
        if endless_too:
            return endless(0)
        if n <= 900:
            return depth(n)
        before, found = sys.getrecursionlimit(), []
        sys.setrecursionlimit(n + 1000)
        threading.stack_size(512 << 20)
        try:
            thread = threading.Thread(target=lambda: found.append(depth(n)))
            thread.start()
            thread.join()
        finally:
            sys.setrecursionlimit(before)
            threading.stack_size(0)
        return found[0]
