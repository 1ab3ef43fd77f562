"""suppress_output in predictions that run at once: the process is silent until the last one leaves it."""

import asyncio
import logging
import sys

from cog import BaseRunner, concurrent
from cog.suppress_output import suppress_output

logging.basicConfig(stream=sys.stderr, format="%(message)s")


class Runner(BaseRunner):
    def setup(self) -> None:
        self.inside = 0

    @concurrent(max=3)
    async def run(self, quiet: bool = True) -> int:
        if not quiet:
            print("aloud")
            logging.error("logged")
            return 0
        with suppress_output():
            self.inside += 1
            while self.inside < 3:
                await asyncio.sleep(0.01)
            print("inside")
            logging.error("inside")
        return self.inside
