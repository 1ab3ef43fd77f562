"""Decorators that forget functools.wraps: what is served is what they stand above."""

import time

from cog import BaseRunner, Input


def timed(fn):
    def timer(*args, **kwargs):
        begun = time.monotonic()
        try:
            return fn(*args, **kwargs)
        finally:
            print("took", time.monotonic() - begun >= 0)

    return timer


def tried(times):
    def decorate(fn):
        def attempt(self, **inputs):
            for last in (False,) * (times - 1) + (True,):
                try:
                    return fn(self, **inputs)
                except ValueError:
                    if last:
                        raise

        return attempt

    return decorate


class Runner(BaseRunner):
    def setup(self) -> None:
        self.calls = 0

    @timed
    @tried(2)
    def run(self, text: str = Input(description="Text", max_length=3), times: int = 2) -> str:
        self.calls += 1
        if self.calls == 1:
            raise ValueError("once more")
        return text * times
