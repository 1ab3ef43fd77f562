"""An object with __call__ as the predict function."""


class Model:
    def __init__(self, factor: int) -> None:
        self.factor = factor
        self.calls = 0

    def setup(self) -> None:
        print("set up")

    def __call__(self, x: int, y: int = 1) -> list[int]:
        self.calls += 1
        return [x * self.factor + y, self.calls]


run = Model(factor=10)
