"""Takes its time, and nothing else: what is measured is how the server meets more than it can do."""

import time

from cog import BaseRunner


class Runner(BaseRunner):
    def run(self, seconds: float = 0.005) -> str:
        time.sleep(seconds)
        return "done"
