"""Takes two seconds, in Python or in one call: what is measured is how soon it can be stopped."""

import time

from cog import BaseRunner


class Runner(BaseRunner):
    def run(self, how: str) -> str:
        if how == "sleep":
            time.sleep(2)
        elif how == "loop":
            end = time.monotonic() + 2
            while time.monotonic() < end:
                pass
        return how
