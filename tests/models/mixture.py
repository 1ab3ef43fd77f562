"""A bit of everything, for long runs."""

from typing import Any, Optional

from cog import BaseRunner, Path


def act(self: BaseRunner, what: str, text: str) -> Any:
    if what == "raise":
        raise ValueError(text)
    if what == "print":
        print(text)
    if what == "file":
        path = Path("out.txt")
        path.write_text(text)
        return path
    if what == "metric":
        self.record_metric("size", len(text))
    return {"text": text, "list": [1, 2.5, None, {"a": [text]}]}


class Sync(BaseRunner):
    def run(self, what: str, text: str = "", file: Optional[Path] = None) -> Any:
        return act(self, what, text)


class Async(BaseRunner):
    async def run(self, what: str, text: str = "", file: Optional[Path] = None) -> Any:
        return act(self, what, text)


class Scoped(BaseRunner):
    """Records metrics of every kind, and returns its context."""

    def run(self, n: int) -> dict:
        if n < 0:
            self.record_metric("predict_time", 1)
        self.record_metric("n", n)
        self.record_metric("total", 1, mode="incr")
        self.record_metric("total", n, mode="incr")
        self.scope.record_metric("list", 1, mode="append")
        self.scope.metrics.record("list", 2, mode="append")
        self.scope.metrics["nested.deep"] = "x"
        self.scope.metrics["flag"] = True
        self.scope.metrics["gone"] = 1
        del self.scope.metrics["gone"]
        if n == 0:
            raise ValueError("after recording")
        return self.scope.context
