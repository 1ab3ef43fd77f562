"""A model whose library is not installed."""

import a_library_that_is_not_there  # noqa: F401
from cog import BaseRunner


class Runner(BaseRunner):
    def run(self) -> str:
        return "never"
