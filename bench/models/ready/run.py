"""A model that takes its time: IMPORT_SECONDS of imports, SETUP_SECONDS of setup, WEIGHTS_MIB of weights in memory.

Without WEIGHTS the weights are NumPy's, in huge pages; WEIGHTS=small has them in pages of 4 KiB, WEIGHTS=torch in PyTorch.
"""

import mmap
import os
import time
from typing import Any

import numpy as np
from cog import BaseRunner

WEIGHTS = os.environ.get("WEIGHTS", "")
if WEIGHTS == "torch":
    import torch

time.sleep(float(os.environ.get("IMPORT_SECONDS", "0")))


def load() -> Any:
    """Return the weights: ones."""
    size = int(os.environ.get("WEIGHTS_MIB", "0")) << 17 or 1000
    if WEIGHTS == "torch":
        return torch.ones(size, dtype=torch.float64)
    if WEIGHTS == "small":
        memory = mmap.mmap(-1, size * 8, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
        memory.madvise(mmap.MADV_NOHUGEPAGE)
        weights = np.frombuffer(memory)
        weights.fill(1)
        return weights
    return np.ones(size)


class Runner(BaseRunner):
    def setup(self) -> None:
        self.weights = load()
        time.sleep(float(os.environ.get("SETUP_SECONDS", "0")))

    def run(self, x: int = 5) -> int:
        return x + int(self.weights[x])
