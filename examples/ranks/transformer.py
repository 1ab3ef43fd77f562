"""A transformer of random weights, cut by columns over the ranks of a worker.

Each rank holds a part of the attention heads and of the hidden units, and all add up their parts
after each block (tensor parallelism). The answer is that of one process with all of the weights.
"""

import torch
import torch.distributed as dist

WORDS, WIDTH, HEADS, HIDDEN, LAYERS, LENGTH = 512, 128, 8, 512, 4, 64


class Part(torch.nn.Module):
    """This rank's columns of one layer; rank and ranks choose them from the weights of all."""

    def __init__(self, rank: int, ranks: int) -> None:
        super().__init__()
        whole = {
            name: torch.randn(shape) * shape[1] ** -0.5
            for name, shape in {
                "queries": (WIDTH, WIDTH),
                "keys": (WIDTH, WIDTH),
                "values": (WIDTH, WIDTH),
                "out": (WIDTH, WIDTH),
                "up": (HIDDEN, WIDTH),
                "down": (WIDTH, HIDDEN),
            }.items()
        }
        self.ranks = ranks
        self.heads = HEADS // ranks
        for name, weights in whole.items():
            # What comes in is cut by rows, what goes out by columns: a sum joins them again.
            axis = 1 if name in ("out", "down") else 0
            self.register_buffer(name, weights.chunk(ranks, axis)[rank].contiguous())

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = x + self.summed(self.attention(norm(x)) @ self.out.T)
        return x + self.summed(torch.relu(norm(x) @ self.up.T) @ self.down.T)

    def attention(self, x: torch.Tensor) -> torch.Tensor:
        length = len(x)
        q, k, v = (
            (x @ w.T).view(length, self.heads, -1).transpose(0, 1)
            for w in (self.queries, self.keys, self.values)
        )
        scores = q @ k.transpose(1, 2) * (WIDTH // HEADS) ** -0.5
        future = torch.ones(length, length, dtype=torch.bool).triu(1)
        weights = scores.masked_fill(future, float("-inf")).softmax(-1)
        return (weights @ v).transpose(0, 1).reshape(length, -1)

    def summed(self, x: torch.Tensor) -> torch.Tensor:
        if self.ranks > 1:
            dist.all_reduce(x)
        return x


def norm(x: torch.Tensor) -> torch.Tensor:
    return torch.nn.functional.layer_norm(x, (WIDTH,))


class Transformer:
    def __init__(self, rank: int, ranks: int) -> None:
        torch.manual_seed(1)  # all ranks draw the same weights, and keep their own columns
        self.embedding = torch.randn(WORDS, WIDTH)
        self.head = torch.randn(WORDS, WIDTH)
        self.layers = [Part(rank, ranks) for _ in range(LAYERS)]

    @torch.inference_mode()
    def next_word(self, words: list[int]) -> int:
        x = self.embedding[words[-LENGTH:]]
        for layer in self.layers:
            x = layer(x)
        return int((norm(x[-1]) @ self.head.T).argmax())
