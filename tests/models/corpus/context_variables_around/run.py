"""preprocess and postprocess have separate contexts as well."""

from contextvars import ContextVar

from cog import BaseRunner, batch

request = ContextVar("request", default="none")


def swap(name: str) -> str:
    seen = request.get()
    request.set(name)
    return seen


class Runner(BaseRunner):
    def preprocess(self, name: str) -> str:
        return swap(name)

    @batch(max_size=4)
    def run(self, names: list[str]) -> list[str]:
        before = swap("batch")
        return [f"{name} {before}" for name in names]

    def postprocess(self, name: str) -> str:
        return f"{name} {swap('after')}"
