"""A ProcessPoolExecutor that is made in setup and stays, with an initializer and an error that comes back."""

import concurrent.futures
import multiprocessing

from cog import BasePredictor

state = {"ready": False}


class TooLong(Exception):
    pass


def initialize(limit: int) -> None:
    state["ready"], state["limit"] = True, limit


def measure(text: str) -> tuple[int, bool]:
    if len(text) > state["limit"]:
        raise TooLong(text[:3])
    return len(text), state["ready"]


class Predictor(BasePredictor):
    def setup(self) -> None:
        self.pool = concurrent.futures.ProcessPoolExecutor(
            2,
            mp_context=multiprocessing.get_context("fork"),
            initializer=initialize,
            initargs=(8,),
        )

    def predict(self, texts: list[str]) -> list:
        return [future.result() for future in [self.pool.submit(measure, text) for text in texts]]
