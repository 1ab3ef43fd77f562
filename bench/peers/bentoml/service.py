"""The benchmark's work in BentoML. WORK says which; WORKERS and WAIT_MS are the benchmark's settings."""

import asyncio
import os
import time
from collections.abc import AsyncGenerator

import bentoml
from pydantic import BaseModel, StrictInt, StrictStr

WORK = os.environ["WORK"]
SETTINGS = {
    "workers": int(os.environ["WORKERS"]),
    "traffic": {"timeout": 60},
    "logging": {"access": {"enabled": False}},
}


class Text(BaseModel):
    text: StrictStr


class Count(BaseModel):
    n: StrictInt


class Answer(BaseModel):
    output: str


if WORK == "echo":

    @bentoml.service(**SETTINGS)
    class Service:
        @bentoml.api(route="/predictions")
        def predict(self, input: Text) -> Answer:
            return Answer(output=input.text)

elif WORK == "await":

    @bentoml.service(**SETTINGS)
    class Service:
        @bentoml.api(route="/predictions")
        async def predict(self, input: Text) -> Answer:
            await asyncio.sleep(0.001)
            return Answer(output=input.text)

elif WORK == "onnx":

    @bentoml.service(**SETTINGS)
    class Service:
        def __init__(self) -> None:
            from classify import Classifier

            self.classifier = Classifier()

        @bentoml.api(route="/predictions")
        def predict(self, input: Text) -> Answer:
            return Answer(output=self.classifier(input.text))

elif WORK == "stream":

    @bentoml.service(**SETTINGS)
    class Service:
        @bentoml.api(route="/predictions")
        async def predict(self, input: Count) -> AsyncGenerator[str, None]:
            for _ in range(input.n):
                yield "token "

elif WORK == "batch":
    # Batched methods take lists, of one element where a client sends one.
    wait = {"max_latency_ms": int(os.environ["WAIT_MS"])} if os.environ.get("WAIT_MS") else {}

    @bentoml.service(**SETTINGS)
    class Service:
        @bentoml.api(route="/predictions", batchable=True, max_batch_size=32, **wait)
        def predict(self, input: list[StrictInt]) -> list[int]:
            time.sleep(0.005 + 0.0001 * len(input))
            return [2 * item for item in input]

elif WORK == "onnx-batch":

    @bentoml.service(**SETTINGS)
    class Service:
        def __init__(self) -> None:
            from mlp import Network

            self.network = Network()

        @bentoml.api(route="/predictions", batchable=True, max_batch_size=16)
        def predict(self, input: list[list[float]]) -> list[int]:
            return self.network(input)
