"""A signature that cannot be served: the message says what, where, and what to do."""

from cog import BaseRunner


class Runner(BaseRunner):
    def run(
        self,
        prompt: str,
        image: bytes,
    ) -> str:
        return prompt
