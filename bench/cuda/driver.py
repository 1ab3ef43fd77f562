"""The CUDA driver API by ctypes: what the benchmark needs of it, and no package."""

from __future__ import annotations

import ctypes
from ctypes import byref, c_char_p, c_int, c_size_t, c_uint, c_uint64, c_void_p


class CudaError(Exception):
    """A call of the driver failed."""


class Driver:
    """libcuda of this process. Raises OSError where there is none."""

    def __init__(self) -> None:
        self._lib = ctypes.CDLL("libcuda.so.1")

    def call(self, name: str, *args: object) -> None:
        """Call a function and raise CudaError with its name and the error's if it fails."""
        code = getattr(self._lib, name)(*args)
        if code != 0:
            text = c_char_p()
            self._lib.cuGetErrorName(code, byref(text))
            raise CudaError(f"{name}: {(text.value or b'error').decode()} ({code})")

    def devices(self) -> int:
        """Initialise the driver and count the devices of this process."""
        count = c_int()
        self.call("cuInit", c_uint(0))
        self.call("cuDeviceGetCount", byref(count))
        return count.value

    def name(self) -> str:
        """Return the first device's name and the driver's CUDA version."""
        text = ctypes.create_string_buffer(256)
        version = c_int()
        self.call("cuDeviceGetName", text, c_int(256), self.device())
        self.call("cuDriverGetVersion", byref(version))
        name = text.value.decode(errors="replace")
        return f"{name}, CUDA driver {version.value // 1000}.{version.value % 1000 // 10}"

    def device(self) -> c_int:
        """Return the handle of the first device."""
        handle = c_int()
        self.call("cuDeviceGet", byref(handle), c_int(0))
        return handle

    def primary_is_active(self) -> bool:
        """Tell whether somebody has made the primary context; without initialising anything."""
        flags, active = c_uint(), c_int()
        try:
            self.call("cuDevicePrimaryCtxGetState", self.device(), byref(flags), byref(active))
        except CudaError:  # not initialised
            return False
        return active.value != 0

    def primary(self) -> int:
        """Retain the primary context and return its handle."""
        context = c_void_p()
        self.call("cuDevicePrimaryCtxRetain", byref(context), self.device())
        return context.value or 0

    def current(self) -> int:
        """Return the handle of this thread's context, 0 for none."""
        context = c_void_p()
        self.call("cuCtxGetCurrent", byref(context))
        return context.value or 0

    def enter_primary(self) -> None:
        """Make the primary context this thread's."""
        self.call("cuInit", c_uint(0))
        self.call("cuCtxSetCurrent", c_void_p(self.primary()))

    def floats(self, count: int, value: float) -> c_uint64:
        """Return device memory with count floats of one value."""
        pointer = c_uint64()
        bits = c_uint.from_buffer(ctypes.c_float(value)).value
        self.call("cuMemAlloc_v2", byref(pointer), c_size_t(4 * count))
        self.call("cuMemsetD32_v2", pointer, c_uint(bits), c_size_t(count))
        return pointer

    def read(self, pointer: c_uint64, count: int) -> list[float]:
        """Copy floats back; waits for what was launched before."""
        host = (ctypes.c_float * count)()
        self.call("cuMemcpyDtoH_v2", host, pointer, c_size_t(4 * count))
        return list(host)

    def free(self, *pointers: c_uint64) -> None:
        """Give device memory back."""
        for pointer in pointers:
            self.call("cuMemFree_v2", pointer)
