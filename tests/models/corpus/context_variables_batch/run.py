"""Each batch has a separate context, also after one that raised."""

from contextvars import ContextVar

from cog import BaseRunner, batch

setting, request = ContextVar("setting", default="none"), ContextVar("request", default="none")


class Runner(BaseRunner):
    def setup(self) -> None:
        setting.set("setup")

    @batch(max_size=4)
    def run(self, name: list[str]) -> list[str]:
        seen = f"{setting.get()} {request.get()}"
        setting.set(name[0])
        request.set(name[0])
        if "raise" in name:
            raise ValueError(seen)
        return [seen] * len(name)
