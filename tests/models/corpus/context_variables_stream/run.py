"""A generator has one context from its first item to its last, and the next prediction another."""

from contextvars import ContextVar
from typing import Iterator

from cog import BaseRunner

request = ContextVar("request", default="none")


class Runner(BaseRunner):
    def run(self, name: str) -> Iterator[str]:
        yield request.get()
        request.set(name)
        yield request.get()
        yield request.get()
