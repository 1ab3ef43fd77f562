"""A model whose imports take 3 s, or what IMPORT_SECONDS says, as those of large libraries do."""

import os
import time

from cog import BaseRunner

time.sleep(float(os.environ.get("IMPORT_SECONDS", "3")))


class Runner(BaseRunner):
    def run(self, x: int = 5) -> int:
        return x + 1
