"""Sources of models for tests."""

from __future__ import annotations

import textwrap


def function_source(parameters: str = "", returns: str = "str", before: str = "") -> str:
    """Return the source of a model that is one function."""
    return f"{IMPORTS}\n{textwrap.dedent(before)}\n\ndef run({parameters}) -> {returns}: ...\n"


IMPORTS = """\
import datetime, decimal, enum, io, os, pathlib, uuid
import collections.abc as abc
from dataclasses import dataclass
from typing import *
from cog import AsyncConcatenateIterator, BaseModel, BasePredictor, BaseRunner, ConcatenateIterator
from cog import File, Input, Opaque, Path, Secret, URLPath, concurrent, streaming
from cog.coder import Coder
"""
