"""asyncio.run inside of a synchronous predict function, with a subprocess and a thread."""

import asyncio
import sys

from cog import BaseRunner


async def fetch(n: int) -> int:
    await asyncio.sleep(0)
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-S", "-c", f"print({n} * 2)", stdout=asyncio.subprocess.PIPE
    )
    out, _ = await process.communicate()
    return await asyncio.to_thread(int, out)


class Runner(BaseRunner):
    def run(self, n: int) -> list[int]:
        async def main() -> list[int]:
            return await asyncio.gather(*(fetch(i) for i in range(n)))

        return asyncio.run(main())
