"""Tell what a talk is about while it is written or spoken: WordLlama's token vectors, which come with its wheel."""

import asyncio
from collections.abc import AsyncIterator
from importlib.resources import files

import numpy as np
from cog import BaseModel, BaseRunner, Input, batch, concurrent
from safetensors.numpy import load_file
from tokenizers import Tokenizer

FADE = 0.7  # how much of what was said before counts beside the next sentence


class Topic(BaseModel):
    """What the talk is about by now, and how near it is to that, -1 to 1."""

    topic: str
    score: float


class Runner(BaseRunner):
    """Follows 32 talks at once, whose sentences share the batches of one method."""

    def setup(self) -> None:
        """Load 32 000 token vectors and the tokenizer."""
        package = files("wordllama")
        weights = load_file(str(package / "weights" / "l2_supercat_256.safetensors"))
        self.vectors = weights["embedding.weight"].astype(np.float32)
        tokenizer = package / "tokenizers" / "l2_supercat_tokenizer_config.json"
        self.tokenizer = Tokenizer.from_file(str(tokenizer))
        self.tokenizer.enable_padding()

    @concurrent(max=32)
    async def run(
        self,
        sentences: AsyncIterator[str] = Input(description="What is said", max_length=10_000),
        topics: list[str] = Input(
            description="What it may be about", default=["sports", "politics", "music"]
        ),
    ) -> AsyncIterator[Topic]:
        """Yield the nearest topic after each sentence."""
        wanted = np.stack(await asyncio.gather(*map(self.embed, topics)))
        said = np.zeros(wanted.shape[1], np.float32)
        async for sentence in sentences:
            said = FADE * said + await self.embed(sentence)
            scores = wanted @ said / max(np.linalg.norm(said), 1e-12)
            best = int(scores.argmax())
            yield Topic(topic=topics[best], score=round(float(scores[best]), 4))

    @batch(max_size=64)
    def embed(self, text: list[str]) -> list[np.ndarray]:
        """Return a vector for each text, 1 long; all texts of a batch are one array."""
        tokens = self.tokenizer.encode_batch(text, add_special_tokens=False)
        ids = np.array([t.ids for t in tokens], dtype=np.int32).reshape(len(text), -1)
        mask = np.array([t.attention_mask for t in tokens], dtype=np.float32).reshape(len(text), -1)
        sums = np.einsum("btv,bt->bv", self.vectors[ids], mask)
        return list(sums / np.maximum(np.linalg.norm(sums, axis=1, keepdims=True), 1e-12))
