"""C code by ctypes: callbacks from C into Python, output by printf, errno."""

import ctypes
import os

from cog import BaseRunner

libc = ctypes.CDLL(None, use_errno=True)
COMPARE = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(ctypes.c_int), ctypes.POINTER(ctypes.c_int))


class Runner(BaseRunner):
    def run(self, numbers: list[int]) -> list[int]:
        array = (ctypes.c_int * len(numbers))(*numbers)
        libc.qsort(array, len(numbers), 4, COMPARE(lambda a, b: a[0] - b[0]))
        print("before C")
        libc.printf(b"sorted %d numbers\n", len(numbers))
        if libc.open(b"/nowhere", os.O_RDONLY) == -1:
            print("errno", ctypes.get_errno())
        return list(array)
