"""A model that uses the GPU and tells how long its first use took."""

from __future__ import annotations

import os
import time

import backends
from cog import BasePredictor, Input
from driver import Driver


def context_appears(seconds: float) -> bool:
    """Wait for a primary context that this code has not made.

    Only the run that proves something calls it: a timed one must neither open libcuda before the
    model does nor wait for the side thread.
    """
    driver = Driver()
    until = time.monotonic() + seconds
    while not driver.primary_is_active():
        if time.monotonic() > until:
            return False
        time.sleep(0.01)
    return True


class Predictor(BasePredictor):
    """Multiplies matrices. Its output has the times that setup measured."""

    def setup(self) -> None:
        """Use the GPU as a model does at its start, with a clock beside it."""
        before = time.perf_counter()
        self.backend = backends.choose()
        loaded = time.perf_counter()
        found = None
        if "BENCH_CUDA_WAIT" in os.environ:
            found = context_appears(float(os.environ["BENCH_CUDA_WAIT"]))
        touched = time.perf_counter()
        self.backend.touch()
        ready = time.perf_counter()
        value = self.backend.multiply(256)
        done = time.perf_counter()
        if value != 128.0:
            raise RuntimeError(f"the product is wrong: {value} instead of 128")
        driver = Driver()
        self.seen = {
            "backend": self.backend.name,
            "load_seconds": loaded - before,
            "first_use_seconds": ready - touched,
            "first_product_seconds": done - ready,
            "context_was_there": found,
            "uses_primary_context": driver.current() == driver.primary() != 0,
        }

    def predict(self, size: int = Input(default=1024, ge=1, le=16384)) -> dict[str, object]:
        """Multiply two matrices of this size and tell what setup has seen."""
        before = time.perf_counter()
        value = self.backend.multiply(size)
        return {
            **self.seen,
            "product_seconds": time.perf_counter() - before,
            "right": value == 0.5 * size,
        }
