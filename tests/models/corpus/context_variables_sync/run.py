"""Variables of contexts: what setup left is there, what a prediction sets is not there for the next."""

import decimal
from contextvars import ContextVar

from cog import BaseRunner

setting, request = ContextVar("setting", default="none"), ContextVar("request", default="none")


class Runner(BaseRunner):
    def setup(self) -> None:
        setting.set("setup")
        decimal.getcontext().prec = 7

    def run(self, name: str) -> str:
        seen = f"{setting.get()} {request.get()} {decimal.getcontext().prec}"
        setting.set(name)
        request.set(name)
        decimal.setcontext(decimal.Context(prec=9))
        if name == "raise":
            raise ValueError(seen)
        return seen
