"""Find the passages of a file that fit a question."""

import asyncio

import cog
from cog import BaseRunner, Input, Path, concurrent


class Runner(BaseRunner):
    """Calls decode for the passages, and embed for all vectors at once, which share batches."""

    @concurrent(max=8)
    async def run(
        self,
        question: str = Input(description="What to look for"),
        document: Path = Input(description="A text file in UTF-8"),
        top: int = Input(description="How many passages", default=3, ge=1, le=100),
    ) -> list[str]:
        """Return the passages that fit best, the best one first."""
        passages = await cog.call_async("decode", document=document)
        calls = [cog.call_async("embed", text=text) for text in [question, *passages]]
        asked, *vectors = await asyncio.gather(*calls)
        scores = [sum(x * y for x, y in zip(asked, vector)) for vector in vectors]
        order = sorted(range(len(passages)), key=lambda i: -scores[i])
        return [passages[i] for i in order[:top]]
