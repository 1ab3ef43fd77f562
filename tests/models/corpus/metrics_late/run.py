"""Threads that record metrics while tokens are yielded, and go on when their prediction is over."""

import threading
from typing import Iterator

from cog import BaseRunner, current_scope, streaming


class Runner(BaseRunner):
    def setup(self) -> None:
        self.ended = threading.Event()
        self.late: threading.Thread | None = None

    @streaming
    def run(self, n: int) -> Iterator[str]:
        if self.late is not None:  # the last prediction's: it tells of a prediction that is over
            self.ended.set()
            self.late.join()
        self.ended = threading.Event()
        scope, ended = current_scope(), self.ended

        def late() -> None:
            ended.wait()
            for _ in range(1000):
                scope.record_metric("late", 1, "incr")

        self.late = threading.Thread(target=late, daemon=True)
        self.late.start()
        counting = threading.Thread(
            target=lambda: [current_scope().record_metric("counted", 1, "incr") for _ in range(n * 10)]
        )
        counting.start()
        for i in range(n):
            yield f"{i} "
        counting.join()
