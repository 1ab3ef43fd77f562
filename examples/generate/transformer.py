"""A tiny transformer of random weights, with a cache of keys and values for each sequence."""

import torch
from torch import nn
from torch.nn import functional

TOKENS, WIDTH, HEADS, LAYERS = 512, 64, 4, 2
LONGEST = 512  # tokens of a sequence, the prompt's included


class Sequence:
    """The tokens of one prediction. `cached` of them are in the cache: a key and a value in each layer."""

    def __init__(self, prompt: list[int]) -> None:
        self.tokens = prompt
        self.cached = 0
        self.cache: torch.Tensor | None = None  # layer, key or value, head, place, number

    @property
    def length(self) -> int:
        """Tokens, for the budget of a batch."""
        return len(self.tokens)


class Layer(nn.Module):
    """Attention and two dense layers."""

    def __init__(self) -> None:
        super().__init__()
        self.before, self.between = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.into, self.out = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)
        self.up, self.down = nn.Linear(WIDTH, 4 * WIDTH), nn.Linear(4 * WIDTH, WIDTH)

    def forward(
        self, x: torch.Tensor, old: torch.Tensor, mask: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Return the new vectors, and keys and values with those of the new tokens behind the old ones."""
        heads = self.into(self.before(x)).unflatten(-1, (3, HEADS, WIDTH // HEADS))
        query, key, value = heads.permute(2, 0, 3, 1, 4)
        kept = torch.cat([old, torch.stack([key, value], 1)], -2)
        scores = query @ kept[:, 0].transpose(-1, -2) / (WIDTH // HEADS) ** 0.5 + mask
        seen = (scores.softmax(-1) @ kept[:, 1]).transpose(1, 2).flatten(2)
        x = x + self.out(seen)
        return x + self.down(functional.gelu(self.up(self.between(x)))), kept


class Transformer(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.tokens, self.places = nn.Embedding(TOKENS, WIDTH), nn.Embedding(LONGEST, WIDTH)
        self.layers = nn.ModuleList(Layer() for _ in range(LAYERS))
        self.last, self.head = nn.LayerNorm(WIDTH), nn.Linear(WIDTH, TOKENS)

    @torch.inference_mode()
    def step(self, sequences: list[Sequence]) -> list[int]:
        """Take the tokens of each sequence that are not cached into its cache, and return the next token of each.

        The sequences are padded to one length, at the left of what is cached and at the right of what is new.
        """
        device = self.places.weight.device
        new = [s.tokens[s.cached :] for s in sequences]
        most, longest = max(map(len, new)), max(s.cached for s in sequences)
        tokens = torch.tensor([each + [0] * (most - len(each)) for each in new], device=device)
        counts = torch.tensor([len(each) for each in new], device=device)
        cached = torch.tensor([s.cached for s in sequences], device=device)
        order = torch.arange(most, device=device)
        places = (cached[:, None] + order).clamp(max=LONGEST - 1)
        mask = self._mask(longest, cached, order)
        old = self._caches(sequences, longest)
        x = self.tokens(tokens) + self.places(places)
        kept = []
        for n, layer in enumerate(self.layers):
            x, both = layer(x, old[:, n], mask)
            kept.append(both)
        self._keep(sequences, torch.stack(kept, 1), longest, new)
        chosen = x[torch.arange(len(new), device=device), counts - 1]
        return self.head(self.last(chosen)).argmax(-1).tolist()

    def _mask(self, longest: int, cached: torch.Tensor, order: torch.Tensor) -> torch.Tensor:
        """Return what is added to scores: of cached places those that are padding, of new ones those behind."""
        before = torch.arange(longest, device=order.device)
        padding = before < longest - cached[:, None]
        behind = order > order[:, None]
        hidden = torch.cat(
            [padding[:, None].expand(-1, len(order), -1), behind.expand(len(cached), -1, -1)], -1
        )
        return torch.zeros(hidden.shape, device=order.device).masked_fill(hidden, -torch.inf)[
            :, None
        ]

    def _caches(self, sequences: list[Sequence], longest: int) -> torch.Tensor:
        """Return the caches as one, each at the right end of its row."""
        shape = (len(sequences), LAYERS, 2, HEADS, longest, WIDTH // HEADS)
        together = self.places.weight.new_zeros(shape)
        for n, s in enumerate(sequences):
            if s.cache is not None:
                together[n, ..., longest - s.cached :, :] = s.cache
        return together

    def _keep(
        self, sequences: list[Sequence], kept: torch.Tensor, longest: int, new: list[list[int]]
    ) -> None:
        for n, s in enumerate(sequences):
            s.cache = kept[n, ..., longest - s.cached : longest + len(new[n]), :].clone()
            s.cached = len(s.tokens)
