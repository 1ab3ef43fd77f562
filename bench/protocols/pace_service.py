"""Tokens at the pace of a language model in FastAPI: native events, and chunks of OpenAI's chat API."""

import asyncio
import json
from collections.abc import AsyncIterator

from fastapi import FastAPI
from fastapi.responses import StreamingResponse
from pydantic import BaseModel

app = FastAPI()


class Chat(BaseModel):
    messages: list[dict]
    max_tokens: int = 100
    pace: float = 0.02
    stream: bool = False


class Prediction(BaseModel):
    input: Chat


async def tokens(chat: Chat) -> AsyncIterator[str]:
    for _ in range(chat.max_tokens):
        await asyncio.sleep(chat.pace)
        yield "token "


def answer(events: AsyncIterator[str]) -> StreamingResponse:
    return StreamingResponse(events, media_type="text/event-stream")


@app.post("/predictions")
async def predict(request: Prediction) -> StreamingResponse:
    async def events() -> AsyncIterator[str]:
        index = 0
        async for token in tokens(request.input):
            yield f"event: output\ndata: {json.dumps({'chunk': token, 'index': index})}\n\n"
            index += 1

    return answer(events())


@app.post("/v1/chat/completions")
async def chat(request: Chat) -> StreamingResponse:
    async def events() -> AsyncIterator[str]:
        async for token in tokens(request):
            choice = {"index": 0, "delta": {"content": token}, "finish_reason": None}
            chunk = {"id": "chatcmpl-1", "object": "chat.completion.chunk", "choices": [choice]}
            yield f"data: {json.dumps(chunk)}\n\n"
        yield "data: [DONE]\n\n"

    return answer(events())
