"""Inputs that may be of several JSON types."""

from typing import Any, List, Optional, Union

from cog import BaseRunner, Input


class Runner(BaseRunner):
    def run(
        self,
        prompt: Union[str, List[str]],
        seed: Union[int, str, None] = None,
        guidance: int | float = Input(default=7, description="Either"),
        anything: Any = {},
        maybe: Optional[Union[bool, dict]] = None,
    ) -> list:
        return [[type(v).__name__, v] for v in (prompt, seed, guidance, anything, maybe)]
