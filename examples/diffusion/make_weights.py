"""Write weights/denoiser.npz: random numbers."""

import numpy as np

chance = np.random.default_rng(1)
np.savez(
    "weights/denoiser.npz",
    into=chance.standard_normal((3, 16)),
    out=chance.standard_normal((16, 3)),
)
