"""Tells the time of day as its process sees it, by each way to ask; "wait" has it wait for the file "open"."""

import ctypes
import os
import time


def run(wait: bool = False) -> list:
    print("begun", flush=True)
    while wait and not os.path.exists("open"):
        time.sleep(0.005)
    libc = ctypes.CDLL(None)
    libc.time.restype = ctypes.c_long
    pair = (ctypes.c_long * 2)()
    libc.gettimeofday(pair, None)
    coarse = time.clock_gettime(5)  # CLOCK_REALTIME_COARSE
    return [time.time(), libc.time(None), pair[0], coarse, time.monotonic()]
