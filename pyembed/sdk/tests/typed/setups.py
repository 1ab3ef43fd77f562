"""Every way in which models write setup; none of them conflicts with the base class."""

from __future__ import annotations

from cog import BaseRunner, Path


class Bare(BaseRunner):
    def setup(self) -> None:
        self.value = 1

    def run(self) -> int:
        return self.value


class WithWeights(BaseRunner):
    def setup(self, weights: Path | None = None) -> None:
        self.name = weights.name if weights is not None else ""

    def run(self) -> str:
        return self.name


class WithText(BaseRunner):
    def setup(self, weights: str) -> None:
        self.weights = weights

    def run(self, text: str) -> str:
        return text + self.weights


class Async(BaseRunner):
    async def setup(self) -> None:
        self.ready = True

    async def run(self, text: str) -> str:
        return text if self.ready else ""


class Derived(WithWeights):
    def setup(self, weights: Path | None = None) -> None:
        super().setup(weights)
        self.suffix = "!"

    def run(self) -> str:
        return super().run() + self.suffix
