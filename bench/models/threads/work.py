"""The work of bench/threads.py, the same for every server."""

import time

MEGABYTES = 200


class Sleep:
    """Waits 20 ms without the GIL."""

    def __call__(self, x: int) -> int:
        time.sleep(0.02)
        return x


class Echo:
    """Does nothing."""

    def __call__(self, x: int) -> int:
        return x


class Numpy:
    """Products of matrices, without the GIL, over weights of 200 MB."""

    def __init__(self) -> None:
        import numpy

        self.full = numpy.full
        size = 512
        layers = MEGABYTES * 1_000_000 // (size * size * 4)
        self.weights = numpy.full((layers, size, size), 1 / size, numpy.float32)

    def __call__(self, x: int) -> int:
        value = self.full((8, 512), x, "float32")
        for layer in self.weights[:16]:
            value = value @ layer
        return round(float(value[0, 0]))


class Pure:
    """Computes in Python, with the GIL if there is one."""

    def __call__(self, x: int) -> int:
        total = 0
        for i in range(20_000):
            total += i & 1
        return x if total == 10_000 else 0


WORK = {"sleep": Sleep, "echo": Echo, "numpy": Numpy, "pure": Pure}
