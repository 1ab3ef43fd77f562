"""A predict function under decorators, as torch.inference_mode() and retries are."""

import contextlib
import functools

from cog import BasePredictor, Input


class inference_mode(contextlib.ContextDecorator):
    active = False

    def __enter__(self):
        inference_mode.active = True

    def __exit__(self, *_):
        inference_mode.active = False


def retry(times):
    def decorate(function):
        @functools.wraps(function)
        def call(*args, **kwargs):
            for left in reversed(range(times)):
                try:
                    return function(*args, **kwargs)
                except ConnectionError as error:
                    print(f"{error}; {left} left")
                    if not left:
                        raise

        return call

    return decorate


class Predictor(BasePredictor):
    def setup(self):
        self.calls = 0

    @inference_mode()
    @retry(times=3)
    def predict(self, failures: int = Input(ge=0, default=0)) -> dict:
        self.calls += 1
        if self.calls <= failures:
            raise ConnectionError(f"call {self.calls}")
        calls, self.calls = self.calls, 0
        return {"calls": calls, "inference": inference_mode.active}
