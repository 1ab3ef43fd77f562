"""A ventu service as it would be written for github.com/kemingy/batching; nothing in it knows of Pinion."""

from __future__ import annotations

import argparse
import math
from typing import ClassVar

import ventu
from pydantic import BaseModel, Field


class Numbers(BaseModel):
    numbers: list[float] = Field(..., min_items=1, max_items=100_000)

    class Config:
        schema_extra: ClassVar[dict[str, object]] = {"example": {"numbers": [1, 2, 3, 4]}}


class Summary(BaseModel):
    mean: float
    deviation: float
    together: int


class Statistics(ventu.Ventu):
    """Mean and standard deviation of numbers, of a whole batch at once."""

    def preprocess(self, data: Numbers) -> list[float]:
        return data.numbers

    def batch_inference(self, batch: list[list[float]]) -> list[dict[str, float]]:
        results = []
        for numbers in batch:
            mean = math.fsum(numbers) / len(numbers)
            square = math.fsum((n - mean) ** 2 for n in numbers) / len(numbers)
            results.append({"mean": mean, "deviation": math.sqrt(square), "together": len(batch)})
        return results


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("-m", "--mode", choices=("unix", "tcp"), default="unix")
    parser.add_argument("--socket", default="batching.socket", help="path of the unix socket")
    parser.add_argument("--host", default="localhost")
    parser.add_argument("--port", type=int, default=8081)
    args = parser.parse_args()
    service = Statistics(Numbers, Summary)
    if args.mode == "unix":
        service.run_unix(args.socket)
    else:
        service.run_tcp(args.host, args.port)


if __name__ == "__main__":
    main()
