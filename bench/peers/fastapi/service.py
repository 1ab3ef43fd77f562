"""The benchmark's work in FastAPI: `async def` where the work never blocks, `def` where it does."""

import asyncio
import json
import os
from collections.abc import Iterator

from fastapi import FastAPI
from fastapi.responses import StreamingResponse
from pydantic import BaseModel, StrictInt, StrictStr

app = FastAPI()
WORK = os.environ["WORK"]


class Text(BaseModel):
    text: StrictStr


class TextRequest(BaseModel):
    input: Text


class Vector(BaseModel):
    x: list[float]


class VectorRequest(BaseModel):
    input: Vector


class Class(BaseModel):
    output: int


class Count(BaseModel):
    n: StrictInt


class CountRequest(BaseModel):
    input: Count


class Answer(BaseModel):
    output: str


if WORK == "echo":

    @app.post("/predictions")
    async def echo(request: TextRequest) -> Answer:
        return Answer(output=request.input.text)

elif WORK == "await":

    @app.post("/predictions")
    async def wait(request: TextRequest) -> Answer:
        await asyncio.sleep(0.001)
        return Answer(output=request.input.text)

elif WORK == "onnx":
    from classify import Classifier

    classifier = Classifier()

    @app.post("/predictions")
    def classify(request: TextRequest) -> Answer:
        return Answer(output=classifier(request.input.text))

elif WORK == "onnx-batch":
    from mlp import Network

    network = Network()

    @app.post("/predictions")
    def classify_vector(request: VectorRequest) -> Class:
        return Class(output=network([request.input.x])[0])

elif WORK == "stream":

    def tokens(n: int) -> Iterator[str]:
        for _ in range(n):
            yield "token "

    @app.post("/predictions")
    async def stream(request: CountRequest) -> StreamingResponse:
        async def events() -> object:
            for index, token in enumerate(tokens(request.input.n)):
                yield f"event: output\ndata: {json.dumps({'chunk': token, 'index': index})}\n\n"

        return StreamingResponse(events(), media_type="text/event-stream")
