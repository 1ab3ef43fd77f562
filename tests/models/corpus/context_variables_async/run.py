"""Each async prediction has a separate context."""

from contextvars import ContextVar

from cog import BaseRunner

request = ContextVar("request", default="none")


class Runner(BaseRunner):
    async def run(self, name: str) -> str:
        seen = request.get()
        request.set(name)
        return seen
