"""OpenAI's chat API in FastAPI, as its users write it: a pydantic object for each chunk."""

import time
import uuid
from collections.abc import Iterator

from fastapi import FastAPI
from fastapi.responses import StreamingResponse
from pydantic import BaseModel

app = FastAPI()


class Delta(BaseModel):
    role: str | None = None
    content: str | None = None


class Choice(BaseModel):
    index: int = 0
    delta: Delta
    finish_reason: str | None = None


class Chunk(BaseModel):
    id: str
    object: str = "chat.completion.chunk"
    created: int
    model: str
    choices: list[Choice]


class Message(BaseModel):
    role: str
    content: str


class Request(BaseModel):
    model: str
    messages: list[Message]
    max_tokens: int = 1000
    stream: bool = False


def tokens(n: int) -> Iterator[str]:
    for _ in range(n):
        yield "token "


@app.post("/v1/chat/completions")
async def chat(request: Request) -> StreamingResponse:
    head = {
        "id": f"chatcmpl-{uuid.uuid4().hex}",
        "created": int(time.time()),
        "model": request.model,
    }

    def chunk(delta: Delta, reason: str | None = None) -> str:
        made = Chunk(**head, choices=[Choice(delta=delta, finish_reason=reason)])
        return f"data: {made.model_dump_json()}\n\n"

    async def events() -> object:
        yield chunk(Delta(role="assistant", content=""))
        for token in tokens(request.max_tokens):
            yield chunk(Delta(content=token))
        yield chunk(Delta(), "stop")
        yield "data: [DONE]\n\n"

    return StreamingResponse(events(), media_type="text/event-stream")
