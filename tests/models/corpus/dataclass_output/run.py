"""Dataclasses, plain, frozen, with slots, inherited and nested, as outputs."""

import dataclasses
import datetime
import decimal
import uuid
from typing import Any, NamedTuple, Optional

from cog import BaseRunner


class Pair(NamedTuple):
    left: int
    right: str = "r"


@dataclasses.dataclass(frozen=True)
class Base:
    id: uuid.UUID
    made: datetime.datetime


@dataclasses.dataclass(frozen=True)
class Invoice(Base):
    price: decimal.Decimal
    pairs: list[Pair]
    tags: set[str] = dataclasses.field(default_factory=set)
    note: Optional[str] = None


class Runner(BaseRunner):
    def run(self, price: str = "1.50") -> Invoice:
        return Invoice(
            uuid.UUID(int=1),
            datetime.datetime(2020, 1, 2, 3, 4, 5, tzinfo=datetime.timezone.utc),
            decimal.Decimal(price),
            [Pair(1), Pair(2, "x")],
            {"only"},
        )


def several(n: int) -> dict[str, Any]:
    return {"range": range(n), "frozen": frozenset({n}), "keys": {n: 1}.keys(), "time": datetime.time(1, 2)}
