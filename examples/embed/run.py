"""Turn texts into vectors: WordLlama's token vectors, which come with its wheel, averaged with numpy."""

from importlib.resources import files

import numpy as np
from cog import BaseRunner, Input, batch
from safetensors.numpy import load_file
from tokenizers import Tokenizer

SIZE = 256  # of a vector


class Runner(BaseRunner):
    """Texts that mean much the same have vectors whose dot product is near to 1."""

    def setup(self) -> None:
        """Load 32 000 token vectors and the tokenizer."""
        package = files("wordllama")
        weights = load_file(str(package / "weights" / "l2_supercat_256.safetensors"))
        self.vectors = weights["embedding.weight"].astype(np.float32)
        tokenizer = package / "tokenizers" / "l2_supercat_tokenizer_config.json"
        self.tokenizer = Tokenizer.from_file(str(tokenizer))
        self.tokenizer.enable_padding()

    @batch(max_size=64)
    def run(
        self,
        text: list[str] = Input(description="A text", max_length=10_000),
        normalize: bool = Input(description="Whether to make the vector 1 long", default=True),
    ) -> list[list[float]]:
        """Return a vector of 256 numbers for each text; all texts of a batch are one array."""
        tokens = self.tokenizer.encode_batch(text, add_special_tokens=False)
        ids = np.array([t.ids for t in tokens], dtype=np.int32).reshape(len(text), -1)
        mask = np.array([t.attention_mask for t in tokens], dtype=np.float32).reshape(len(text), -1)
        counts = np.maximum(mask.sum(axis=1, keepdims=True), 1)
        means = np.einsum("btv,bt->bv", self.vectors[ids], mask) / counts
        if normalize:
            means /= np.maximum(np.linalg.norm(means, axis=1, keepdims=True), 1e-12)
        return list(means)
