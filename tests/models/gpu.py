"""A model on a GPU, by torch: products, and what goes wrong there."""

import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator

import torch
from cog import BasePredictor, Input, batch

DEVICE = os.environ.get("GPU_TEST_DEVICE", "cuda")

GIB = 1 << 30

FORKED = """
import os, sys, torch
torch.ones(1, device=sys.argv[1])
"""


def synchronize() -> None:
    if DEVICE == "cuda":
        torch.cuda.synchronize()


def product(size: int, factor: float) -> float:
    """Multiply two matrices whose product has one value everywhere."""
    a = torch.full((size, size), factor, device=DEVICE)
    b = torch.full((size, size), 0.5, device=DEVICE)
    c = a @ b
    low, high = c.min().item(), c.max().item()
    if low != high:
        raise ValueError(f"the product has values from {low} to {high}")
    return high


class Model(BasePredictor):
    """Does on the GPU what its input says."""

    def setup(self) -> None:
        """Hold memory, as weights do."""
        self.held = torch.zeros(int(os.environ.get("GPU_TEST_HOLD", "1048576")), dtype=torch.uint8, device=DEVICE)
        self.streams = threading.local()
        self.product = product(64, 1.0)

    def predict(self, do: str, size: int = Input(default=256, ge=1), factor: float = 1.0) -> str:
        """Do it, and return what comes of it."""
        return str(getattr(self, do)(size, factor))

    def multiply(self, size: int, factor: float) -> float:
        return product(size, factor)

    def loop(self, size: int, factor: float) -> None:
        """Keep the GPU busy until somebody ends it."""
        a = torch.full((size, size), 0.5, device=DEVICE)
        print("computing")
        while True:
            for _ in range(10):
                a = (a @ a).clamp(0, 1)
            synchronize()

    def queued(self, size: int, factor: float) -> None:
        """Launch some seconds of work and wait for them in one call, which Python cannot interrupt."""
        a = torch.full((size, size), 0.5, device=DEVICE)
        for _ in range(int(factor)):
            a = (a @ a).clamp(0, 1)
        print("launched")
        synchronize()

    def too_much(self, size: int, factor: float) -> None:
        torch.zeros(size * GIB, dtype=torch.uint8, device=DEVICE)

    def asserts(self, size: int, factor: float) -> None:
        """Index beyond the end, which a kernel notices."""
        index = torch.tensor([size + 1], device=DEVICE)
        torch.zeros(size, device=DEVICE)[index].sum().item()
        synchronize()

    def illegal(self, size: int, factor: float) -> None:
        """Write where nothing is: the context of this process is lost."""
        import cupy

        kernel = cupy.RawKernel('extern "C" __global__ void f(int *p) { *p = 1; }', "f")
        kernel((1,), (1,), (cupy.uint64(16),))
        cupy.cuda.runtime.deviceSynchronize()

    def forks(self, size: int, factor: float) -> str:
        """Use the GPU in a process that this one forks, and in a fresh one."""
        read, write = os.pipe()
        pid = os.fork()
        if pid == 0:
            try:
                torch.ones(1, device=DEVICE)
                text = b"used it"
            except RuntimeError as error:
                text = str(error).encode()
            os.write(write, text)
            os._exit(0)
        os.close(write)
        with os.fdopen(read) as pipe:
            text = pipe.read()
        os.waitpid(pid, 0)
        fresh = subprocess.run([sys.executable, "-c", FORKED, DEVICE], check=False)
        return f"{text}; a fresh process ends with {fresh.returncode}"

    def stream(self, size: int, factor: float) -> float:
        """Multiply on a stream of this thread's own."""
        if not hasattr(self.streams, "own"):
            self.streams.own = torch.cuda.Stream()
        with torch.cuda.stream(self.streams.own):
            return product(size, factor)


class Threads(Model):
    """The same on threads: each tells which it was."""

    def predict(self, do: str, size: int = Input(default=256, ge=1), factor: float = 1.0) -> str:
        """Do it on this thread."""
        text = super().predict(do, size, factor)
        if torch.is_grad_enabled() is False:
            raise ValueError("another thread's setting is seen here")
        with torch.inference_mode():
            time.sleep(0.01)
        return f"{text} {threading.get_native_id()}"


class Batches(BasePredictor):
    """Multiplies a whole batch by one kernel."""

    def setup(self) -> None:
        """Make the weights."""
        self.weights = torch.full((256, 256), 0.5, device=DEVICE)

    @batch(max_size=8, max_wait_ms=50)
    def predict(self, factor: list[float]) -> list[str]:
        """Return each one's value and the size of the batch."""
        rows = torch.tensor(factor, device=DEVICE).unsqueeze(1).expand(-1, 256)
        return [f"{value} of {len(factor)}" for value in (rows @ self.weights)[:, 0].tolist()]


class Tokens(BasePredictor):
    """Yields a value of each of some products."""

    def setup(self) -> None:
        """Touch the device."""
        self.product = product(64, 1.0)

    def predict(self, steps: int = 8) -> Iterator[str]:
        """Multiply and yield."""
        for step in range(steps):
            yield f"{product(512, float(step))} "
