"""A function that says that it returns an iterator, and returns something else."""

from cog import BaseRunner, ConcatenateIterator


class Runner(BaseRunner):
    def run(self, what: str) -> ConcatenateIterator[str]:
        values = {"sync": iter("ab"), "list": ["a", "b"], "one": "ab", "nothing": None, "number": 5}
        return values[what]  # type: ignore[return-value]
