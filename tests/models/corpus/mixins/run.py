"""Behaviour put together from mixins that call each other by super()."""

from cog import BasePredictor, Input


class Cached:
    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.cache = {}

    def infer(self, text):
        if text not in self.cache:
            self.cache[text] = super().infer(text)
            return self.cache[text], False
        return self.cache[text], True


class Timed:
    calls = 0

    def infer(self, text):
        type(self).calls += 1
        return super().infer(text)


class Backend:
    def infer(self, text):
        return text[::-1]


class Predictor(Cached, Timed, Backend, BasePredictor):
    def setup(self):
        self.ready = True

    def predict(self, text: str = Input(description="Text")) -> dict:
        value, cached = self.infer(text)
        return {"value": value, "cached": cached, "calls": self.calls, "ready": self.ready}
