"""Three ways to use a GPU from Python, the first that this machine has is taken."""

from __future__ import annotations

import ctypes
import glob
import importlib.util
import os
import sys
from ctypes import byref, c_float, c_int, c_void_p

from driver import Driver


class TorchBackend:
    """Multiplies with torch, as most models do."""

    name = "torch"

    def __init__(self) -> None:
        import torch

        if not torch.cuda.is_available():
            raise ImportError("torch sees no GPU")
        self._torch = torch

    def touch(self) -> None:
        """Make the first use of the GPU."""
        self._torch.zeros(1, device="cuda")
        self._torch.cuda.synchronize()

    def multiply(self, n: int) -> float:
        """Multiply two n by n matrices of ones and halves and return one element."""
        a = self._torch.ones((n, n), device="cuda")
        b = self._torch.full((n, n), 0.5, device="cuda")
        return float((a @ b)[n - 1, n - 1])


class CublasBackend:
    """Multiplies with libcublas by ctypes."""

    name = "cublas"

    def __init__(self) -> None:
        self._lib = ctypes.CDLL(_find_cublas())
        self._driver = Driver()
        self._handle = c_void_p()

    def touch(self) -> None:
        """Make the first use of the GPU."""
        self._driver.enter_primary()
        self._check("cublasCreate_v2", byref(self._handle))

    def multiply(self, n: int) -> float:
        """Multiply two n by n matrices of ones and halves and return one element."""
        size = n * n
        a, b, c = (self._driver.floats(size, value) for value in (1.0, 0.5, 0.0))
        one, zero, dim, plain = c_float(1), c_float(0), c_int(n), c_int(0)
        self._check(
            "cublasSgemm_v2",
            self._handle,
            plain,
            plain,
            dim,
            dim,
            dim,
            byref(one),
            a,
            dim,
            b,
            dim,
            byref(zero),
            c,
            dim,
        )
        result = self._driver.read(c, size)[-1]
        self._driver.free(a, b, c)
        return result

    def _check(self, name: str, *args: object) -> None:
        code = getattr(self._lib, name)(*args)
        if code != 0:
            raise RuntimeError(f"{name}: cuBLAS status {code}")


class DriverBackend:
    """Only fills device memory and reads it back: there is nothing here that could multiply."""

    name = "driver only, no multiplication"

    def __init__(self) -> None:
        self._driver = Driver()

    def touch(self) -> None:
        """Make the first use of the GPU."""
        self._driver.enter_primary()

    def multiply(self, n: int) -> float:
        """Fill n by n floats with what the product would hold and return one of them."""
        memory = self._driver.floats(n * n, 0.5 * n)
        result = self._driver.read(memory, n * n)[-1]
        self._driver.free(memory)
        return result


def _find_cublas() -> str:
    """Return a name of libcublas for dlopen: the wheels' file, else a soname."""
    for folder in sys.path:
        for path in sorted(glob.glob(os.path.join(folder, "nvidia", "*", "lib", "libcublas.so.*"))):
            return path
    for name in ("libcublas.so.13", "libcublas.so.12", "libcublas.so.11", "libcublas.so"):
        try:
            ctypes.CDLL(name)
        except OSError:
            continue
        return name
    raise OSError("no libcublas")


def choose() -> TorchBackend | CublasBackend | DriverBackend:
    """Return the best way that works here."""
    if importlib.util.find_spec("torch"):
        try:
            return TorchBackend()
        except ImportError:
            pass
    try:
        return CublasBackend()
    except OSError:
        return DriverBackend()
