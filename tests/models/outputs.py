"""Outputs of each type, and what cannot become JSON."""

import dataclasses
import datetime
import decimal
import enum
import math
import uuid
from typing import Any

from cog import BaseModel, Path, Secret


class Colour(enum.Enum):
    RED = "red"


class Point(BaseModel):
    x: int
    y: float


@dataclasses.dataclass
class Pair:
    left: str
    right: list


class Odd:
    def __repr__(self) -> str:
        return "<odd>"


def nested(depth: int) -> list:
    value: list = []
    for _ in range(depth - 1):
        value = [value]
    return value


def loop() -> list:
    value: list = []
    value.append(value)
    return value


MAKERS = {
    "none": lambda: None,
    "str": lambda: "grüße \U0001f600 \u0000 \"\\",
    "empty": lambda: "",
    "int": lambda: 2**200,
    "negative": lambda: -(2**63) - 1,
    "float": lambda: 0.1,
    "whole float": lambda: 1.0,
    "tiny": lambda: 5e-324,
    "bool": lambda: [True, False],
    "list": lambda: [1, "a", None, [2.5]],
    "dict": lambda: {"b": 1, "a": {"c": [None]}},
    "int keys": lambda: {1: "a"},
    "tuple": lambda: (1, (2, 3)),
    "set": lambda: {7},
    "empty set": lambda: set(),
    "enum": lambda: Colour.RED,
    "datetime": lambda: datetime.datetime(2020, 1, 2, 3, 4, 5, tzinfo=datetime.timezone.utc),
    "date": lambda: datetime.date(2020, 1, 2),
    "uuid": lambda: uuid.UUID(int=1),
    "decimal": lambda: decimal.Decimal("1.50"),
    "model": lambda: Point(x=1, y=2.5),
    "dataclass": lambda: [Pair("l", [Point(x=3, y=4.0)])],
    "secret": lambda: {"token": Secret("hunter2")},
    "deep enough": lambda: nested(400),
    # What follows fails.
    "nan": lambda: {"scores": [0.5, math.nan]},
    "infinity": lambda: [{"a": -math.inf}],
    "bytes": lambda: {"image": [b"x"]},
    "object": lambda: [1, {"thing": Odd()}],
    "complex": lambda: 1j,
    "function": lambda: {"f": len},
    "odd key": lambda: {(1, 2): "x"},
    "lone surrogate": lambda: ["ok", "\ud800"],
    "loop": loop,
    "too deep": lambda: nested(100000),
    "missing path": lambda: {"files": [Path("nowhere/missing.png")]},
}


def run(name: str) -> Any:
    return MAKERS[name]()


def arrays() -> Any:
    import numpy

    return {
        "vector": numpy.arange(3),
        "matrix": numpy.eye(2, dtype=numpy.float32),
        "scalar": numpy.float32(0.5),
        "flag": numpy.bool_(True),
        "empty": numpy.zeros((0,)),
    }


def records() -> Any:
    import pydantic

    class Inner(pydantic.BaseModel):
        n: int

    class Outer(pydantic.BaseModel):
        name: str
        inner: list[Inner]

    return Outer(name="a", inner=[Inner(n=1)])
