"""An inference server on aiohttp inside of the model, and a session from setup that predictions share."""

import asyncio

from aiohttp import ClientSession, ClientTimeout, web
from cog import BaseRunner, concurrent, current_scope


async def double(request: web.Request) -> web.Response:
    body = await request.json()
    if body["x"] < 0:
        raise web.HTTPBadRequest(text="negative")
    await asyncio.sleep(0.01)
    return web.json_response({"y": body["x"] * 2})


class Runner(BaseRunner):
    async def setup(self) -> None:
        app = web.Application()
        app.router.add_post("/", double)
        runner = web.AppRunner(app)
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        self.url = f"http://127.0.0.1:{runner.addresses[0][1]}/"
        self.session = ClientSession(timeout=ClientTimeout(total=60))

    @concurrent(max=8)
    async def run(self, xs: list[int]) -> list[int]:
        async def one(x: int) -> int:
            async with self.session.post(self.url, json={"x": x}) as answer:
                answer.raise_for_status()
                current_scope().record_metric("calls", 1, "incr")
                return (await answer.json())["y"]

        return await asyncio.gather(*map(one, xs))
