"""Train the model of examples/chat on the documentation that comes with Python: train.py [STEPS].

It needs PyTorch and takes six minutes on one core. It writes model.npz: the words, and each matrix as bytes with a
scale for each row.
"""

import math
import re
import sys
from collections import Counter
from pydoc_data.topics import topics

import numpy as np
import torch
from torch import nn
from torch.nn import functional

WORDS, WIDTH, LAYERS, HEADS, WINDOW = 4096, 128, 3, 4, 128
HEAD = WIDTH // HEADS
BLOCK, BATCH = 256, 8


def normed(x: torch.Tensor) -> torch.Tensor:
    return x * torch.rsqrt(x.square().mean(-1, keepdim=True) + 1e-5)


class Layer(nn.Module):
    """Attention to the last WINDOW words, with one key and one value for all heads, and two dense layers."""

    def __init__(self) -> None:
        super().__init__()
        self.into = nn.Linear(WIDTH, WIDTH + 2 * HEAD, bias=False)
        self.out = nn.Linear(WIDTH, WIDTH, bias=False)
        self.up = nn.Linear(WIDTH, 4 * WIDTH, bias=False)
        self.down = nn.Linear(4 * WIDTH, WIDTH, bias=False)
        self.drop = nn.Dropout(0.1)

    def forward(
        self, x: torch.Tensor, turn: tuple[torch.Tensor, torch.Tensor], mask: torch.Tensor
    ) -> torch.Tensor:
        heads = self.into(normed(x)).unflatten(-1, (HEADS + 2, HEAD)).transpose(1, 2)
        turned = rotated(heads[:, : HEADS + 1], *turn)
        query, key, value = turned[:, :HEADS], turned[:, HEADS:], heads[:, HEADS + 1 :]
        weights = (query @ key.transpose(-1, -2) / math.sqrt(HEAD) + mask).softmax(-1)
        x = x + self.drop(self.out((weights @ value).transpose(1, 2).flatten(2)))
        return x + self.drop(self.down(functional.relu(self.up(normed(x)))))


def rotated(x: torch.Tensor, cos: torch.Tensor, sin: torch.Tensor) -> torch.Tensor:
    a, b = x.chunk(2, -1)
    return torch.cat([a * cos - b * sin, a * sin + b * cos], -1)


class Model(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.words = nn.Embedding(WORDS, WIDTH)
        nn.init.normal_(self.words.weight, std=0.05)
        self.layers = nn.ModuleList(Layer() for _ in range(LAYERS))
        places = torch.arange(BLOCK)
        angle = places[:, None] * 10_000.0 ** (-torch.arange(HEAD // 2) / (HEAD // 2))
        self.turn = (angle.cos(), angle.sin())
        behind = places[:, None] - places
        self.mask = torch.zeros(BLOCK, BLOCK).masked_fill(
            (behind < 0) | (behind >= WINDOW), -torch.inf
        )

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        x = self.words(tokens)
        for layer in self.layers:
            x = layer(x, self.turn, self.mask)
        return normed(x) @ self.words.weight.T


def save(model: Model, words: list[str]) -> None:
    kept = {"words": np.array(" ".join(words)), "heads": HEADS, "window": WINDOW}
    for name, matrix in model.state_dict().items():
        scale = matrix.abs().amax(1, keepdim=True) / 127
        kept[name] = (matrix / scale).round().to(torch.int8).numpy()
        kept[name + ".scale"] = scale.numpy()
    np.savez_compressed("model.npz", **kept)


def main() -> None:
    steps = int(sys.argv[1]) if len(sys.argv) > 1 else 1500
    torch.manual_seed(1)
    text = [re.findall(r"\S+", topics[name]) for name in sorted(topics)]
    counts = Counter(word for topic in text for word in topic)
    words = ["�"] + [
        word for word, _ in counts.most_common(WORDS - 1)
    ]  # the first stands for all others
    number = {word: n for n, word in enumerate(words)}
    tokens = torch.tensor([number.get(word, 0) for topic in text for word in topic])
    model = Model()
    optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3, weight_decay=0.05)
    rate = torch.optim.lr_scheduler.OneCycleLR(optimizer, 3e-3, steps, pct_start=0.1)
    for step in range(steps):
        starts = torch.randint(len(tokens) - BLOCK, (BATCH,)).tolist()
        block = torch.stack([tokens[at : at + BLOCK + 1] for at in starts])
        loss = functional.cross_entropy(
            model(block[:, :-1]).flatten(0, 1), block[:, 1:].flatten(), ignore_index=0
        )
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        rate.step()
        if step % 50 == 49:
            print(step + 1, round(loss.item(), 3), flush=True)
            save(model, words)
    save(model, words)


main()
