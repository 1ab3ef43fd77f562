"""The stream of bench/models/stream in Starlette: the same generator, the same events."""

import json
from collections.abc import Iterator

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse, StreamingResponse
from starlette.routing import Route


def tokens(n: int) -> Iterator[str]:
    """Yield n tokens."""
    for _ in range(n):
        yield "token "


async def create(request: Request) -> StreamingResponse:
    """Stream the tokens as server-sent events."""
    n = (await request.json())["input"]["n"]

    async def events() -> object:
        for index, token in enumerate(tokens(n)):
            yield f"event: output\ndata: {json.dumps({'chunk': token, 'index': index})}\n\n"
        yield f"event: completed\ndata: {json.dumps({'status': 'succeeded'})}\n\n"

    return StreamingResponse(events(), media_type="text/event-stream")


async def health(request: Request) -> PlainTextResponse:
    """Answer that the server is there."""
    return PlainTextResponse('{"status":"READY"}')


app = Starlette(
    routes=[Route("/predictions", create, methods=["POST"]), Route("/health-check", health)]
)
