"""The benchmark's work in Ray Serve. WORK says which; WORKERS and WAIT_MS are the benchmark's settings."""

import asyncio
import os
import sys
import threading
import time
from collections.abc import Iterator

import ray
from fastapi import FastAPI
from pydantic import BaseModel, StrictInt, StrictStr
from ray import serve
from starlette.responses import StreamingResponse

app = FastAPI()
WAIT = (
    {"batch_wait_timeout_s": int(os.environ["WAIT_MS"]) / 1000} if os.environ.get("WAIT_MS") else {}
)
PLACE = serve.deployment(
    num_replicas=int(os.environ["WORKERS"]),
    max_ongoing_requests=256,
    ray_actor_options={"num_cpus": 0.1},
)


class Text(BaseModel):
    text: StrictStr


class TextRequest(BaseModel):
    input: Text


class Number(BaseModel):
    x: StrictInt


class NumberRequest(BaseModel):
    input: Number


class Count(BaseModel):
    n: StrictInt


class CountRequest(BaseModel):
    input: Count


@PLACE
@serve.ingress(app)
class Service:
    """Each method is one row's work; all rows of a run use one."""

    def __init__(self, work: str) -> None:
        if work == "onnx":
            from classify import Classifier

            self.classifier = Classifier()

    @app.post("/echo")
    async def echo(self, request: TextRequest) -> dict[str, str]:
        return {"output": request.input.text}

    @app.post("/await")
    async def wait(self, request: TextRequest) -> dict[str, str]:
        await asyncio.sleep(0.001)
        return {"output": request.input.text}

    @app.post("/onnx")
    def onnx(self, request: TextRequest) -> dict[str, str]:
        return {"output": self.classifier(request.input.text)}

    @app.post("/stream")
    def stream(self, request: CountRequest) -> StreamingResponse:
        def tokens() -> Iterator[str]:
            for _ in range(request.input.n):
                yield "token "

        return StreamingResponse(tokens(), media_type="text/plain")

    @serve.batch(max_batch_size=32, **WAIT)
    async def double(self, batch: list[int]) -> list[int]:
        # Blocking here would block the replica's event loop, which has to gather the next batch.
        await asyncio.to_thread(time.sleep, 0.005 + 0.0001 * len(batch))
        return [2 * item for item in batch]

    @app.post("/batch")
    async def batch(self, request: NumberRequest) -> dict[str, int]:
        return {"output": await self.double(request.input.x)}


def main() -> None:
    ray.init(include_dashboard=False, num_cpus=2, logging_level="error", log_to_driver=False)
    serve.start(http_options={"host": "127.0.0.1", "port": int(sys.argv[1])})
    serve.run(Service.bind(os.environ["WORK"]), route_prefix="/")
    threading.Event().wait()


if __name__ == "__main__":
    main()
