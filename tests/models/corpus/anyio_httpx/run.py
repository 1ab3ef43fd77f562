"""anyio's task groups, limits and threads, and httpx against a plain server in a thread."""

import http.server
import threading
from typing import AsyncIterator

import anyio
import anyio.to_thread
import httpx
from cog import BaseRunner, concurrent, streaming


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        body = self.path.strip("/").encode()[::-1]
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args) -> None:
        pass


class Runner(BaseRunner):
    def setup(self) -> None:
        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        self.url = f"http://127.0.0.1:{server.server_port}/"

    @streaming
    @concurrent(max=4)
    async def run(self, words: list[str], limit: float = 60) -> AsyncIterator[str]:
        send, receive = anyio.create_memory_object_stream(10)

        async def fetch(client: httpx.AsyncClient, word: str) -> None:
            if word == "hang":
                await anyio.sleep_forever()
            answer = await client.get(self.url + word)
            await send.send(await anyio.to_thread.run_sync(answer.text.upper))

        with anyio.fail_after(limit):
            async with httpx.AsyncClient(trust_env=False) as client, anyio.create_task_group() as group:
                for word in words:
                    group.start_soon(fetch, client, word)
                for _ in words:
                    yield await receive.receive()
        print("closed")
