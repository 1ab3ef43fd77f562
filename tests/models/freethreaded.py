"""Whether a Python without a GIL still has none, with numpy and, if asked, another module."""

import importlib
import sys
import warnings

import cog  # noqa: F401
import numpy  # noqa: F401

warnings.filterwarnings("ignore")  # as many models do: Python's own warning is one


def run(module: str = "") -> bool:
    if module:
        importlib.import_module(module)
    return sys._is_gil_enabled()
