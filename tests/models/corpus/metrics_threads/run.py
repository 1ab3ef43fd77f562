"""Metrics from helper functions, threads, callbacks and a pool: all of the prediction that runs."""

import contextvars
import threading
from concurrent.futures import ThreadPoolExecutor

from cog import BaseRunner, current_scope


def helper(n: int) -> None:
    current_scope().record_metric("helper", n)


class Library:
    """Calls back, from a new thread."""

    def run(self, callback) -> None:
        thread = threading.Thread(target=lambda: [callback(i) for i in range(3)])
        thread.start()
        thread.join()


class Runner(BaseRunner):
    def setup(self) -> None:
        current_scope().record_metric("in_setup", 1)  # outside of a prediction: nothing
        self.pool = ThreadPoolExecutor(2)

    def run(self, n: int) -> str:
        helper(n)
        Library().run(lambda i: current_scope().record_metric("callbacks", 1, "incr"))
        context = contextvars.copy_context()
        self.pool.submit(context.run, helper, n + 1).result()
        self.record_metric("stages.first.seconds", 0.5)
        self.scope.metrics["stages.second"] = {"ok": True}
        for loss in (0.5, 0.25):
            current_scope().metrics.record("losses", loss, mode="append")
        self.record_metric("gone", "soon")
        del self.scope.metrics["gone"]
        return "done"
