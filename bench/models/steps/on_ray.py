"""The steps of run.py with Ray Serve's @serve.batch: on_ray.py PORT."""

import asyncio
import os
import sys
import threading

import ray
from engine import Engine
from fastapi import FastAPI
from pydantic import BaseModel
from ray import serve

app = FastAPI()


class Tokens(BaseModel):
    tokens: int


class Request(BaseModel):
    input: Tokens


@serve.deployment(max_ongoing_requests=256, ray_actor_options={"num_cpus": 0.1})
@serve.ingress(app)
class Steps:
    def __init__(self, step_us: int, item_us: int) -> None:
        self.engine = Engine(step_us, item_us)
        self.active = asyncio.Semaphore(32)

    # The default wait, 10 ms: with less, a step has 3 of 20 sequences.
    @serve.batch(max_batch_size=32)
    async def decode(self, sequence: list[int]) -> list[int]:
        # Sleeping here would block the event loop, which has to gather the next batch.
        return await asyncio.to_thread(self.engine.step, sequence)

    @app.post("/predictions")
    async def run(self, request: Request) -> dict[str, list[int]]:
        async with self.active:
            token, before, first = 0, self.engine.steps, 0
            for _ in range(request.input.tokens):
                token = await self.decode(token)
                first = first or self.engine.steps - before
            return {"output": [self.engine.steps, first]}


if __name__ == "__main__":
    ray.init(include_dashboard=False, num_cpus=2, logging_level="error", log_to_driver=False)
    serve.start(http_options={"host": "127.0.0.1", "port": int(sys.argv[1])})
    steps = Steps.bind(int(os.environ["STEP_US"]), int(os.environ["ITEM_US"]))
    serve.run(steps, route_prefix="/")
    threading.Event().wait()
