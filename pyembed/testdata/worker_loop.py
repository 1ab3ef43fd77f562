"""The event loop of async models, whose selector is C: what a model does with its sockets."""

from __future__ import annotations

import sys

from front import SUCCEEDED, Worker, main

MODEL = """
    import asyncio, socket

    async def both(loop):
        # Two sockets that read and write at once: their files are watched for both, then for one.
        server, ends = socket.create_server(("127.0.0.1", 0)), []
        server.setblocking(False)
        client = socket.socket()
        client.setblocking(False)
        accepted, _ = await asyncio.gather(
            loop.sock_accept(server), loop.sock_connect(client, server.getsockname())
        )
        readers = [await asyncio.open_connection(sock=s) for s in (client, accepted[0])]
        data = b"0123456789" * 500_000

        async def move(reader, writer):
            async def send():
                writer.write(data)
                await writer.drain()
                writer.write_eof()

            got, _ = await asyncio.gather(reader.read(), send())
            writer.close()
            return got == data

        result = await asyncio.gather(*(move(*ends) for ends in readers))
        server.close()
        return all(result)

    async def many(loop, n):
        # More files than one turn of the loop learns of.
        pairs = [socket.socketpair() for _ in range(n)]
        woken, done = set(), loop.create_future()

        def read(i):
            assert pairs[i][0].recv(1) == b"x"
            woken.add(i)
            loop.remove_reader(pairs[i][0])
            if len(woken) == n:
                done.set_result(None)

        for i, (a, b) in enumerate(pairs):
            loop.add_reader(a, read, i)
            b.send(b"x")
        await done
        for a, b in pairs:
            a.close()
            b.close()
        return len(woken)

    async def hung_up(loop):
        # An end that is closed wakes who waits to read, and who waits to write.
        a, b = socket.socketpair()
        a.setblocking(False)
        filled = 0
        try:
            while True:
                filled += a.send(b"x" * 65536)
        except BlockingIOError:
            pass
        woken = loop.create_future()
        loop.add_writer(a, lambda: woken.done() or woken.set_result("writer"))
        b.close()
        who = await woken
        loop.remove_writer(a)
        again = loop.create_future()
        loop.add_reader(a, lambda: again.done() or again.set_result("reader"))
        who += " " + await again
        loop.remove_reader(a)
        a.close()
        return who

    async def run(what: str, n: int = 0) -> str:
        loop = asyncio.get_running_loop()
        if what == "type":
            return type(loop._selector).__module__
        if what == "sleep":
            began = loop.time()
            await asyncio.sleep(n / 1000)
            return str(loop.time() - began >= n / 1000)
        if what == "both":
            return str(await both(loop))
        if what == "many":
            return str(await many(loop, n))
        return await hung_up(loop)
"""


def result(worker, **inputs):
    last = worker.run(inputs)[-1]
    assert last.kind == SUCCEEDED, (last, worker.drain())
    return last.value["output"]


def test_sockets_of_the_model():
    with Worker(MODEL) as worker:
        assert result(worker, what="type") == "cog._worker.serve.loop"
        assert result(worker, what="both") == "True"
        assert result(worker, what="many", n=200) == "200"
        assert result(worker, what="hang up") == "writer reader"
        assert result(worker, what="both") == "True"  # in descriptors that were others'


def test_time():
    with Worker(MODEL) as worker:
        for n in 0, 1, 30:
            assert result(worker, what="sleep", n=n) == "True"


if __name__ == "__main__":
    main(sys.modules[__name__])
