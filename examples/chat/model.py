"""A small transformer in numpy: it computes the next words of many texts in one step. train.py makes its weights."""

import os
from pathlib import Path

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # more would take the cores that send the words

import numpy as np


class Sequence:
    """A text that grows, and the row of the model's cache with keys and values of its last words."""

    def __init__(self, row: int, words: list[int], temperature: float, seed: int | None) -> None:
        self.row = row
        self.length = 0  # words in the cache, those that were overwritten included
        self.words = words  # those that are not in the cache yet
        self.temperature = temperature
        self.chance = np.random.default_rng(seed)


class Model:
    """The weights, and a cache with a row for each of `rows` sequences."""

    def __init__(self, rows: int) -> None:
        stored = np.load(Path(__file__).with_name("model.npz"))
        self.words: list[str] = str(stored["words"]).split(" ")
        self.number = {word: n for n, word in enumerate(self.words)}
        self.heads, self.window = int(stored["heads"]), int(stored["window"])
        weights = {
            name: np.ascontiguousarray((stored[name] * stored[name + ".scale"]).T)
            for name in stored.files
            if name + ".scale" in stored.files
        }
        self.of_words = np.ascontiguousarray(weights.pop("words.weight").T)
        parts = ("into", "out", "up", "down")
        self.layers = [
            [weights[f"layers.{n}.{part}.weight"] for part in parts]
            for n in range(len(weights) // len(parts))
        ]
        self.head = self.of_words.shape[1] // self.heads
        depth = len(self.layers)
        self.keys = np.zeros((depth, rows, self.head, self.window), np.float32)
        self.values = np.zeros((depth, rows, self.window, self.head), np.float32)
        self.mask = np.full(
            (rows, self.window), -np.inf, np.float32
        )  # 0 where the cache has a word
        self.frequency = 10_000.0 ** (-np.arange(self.head // 2) / (self.head // 2))

    def encode(self, text: str) -> list[int]:
        """Return the numbers of a text's last words; 0 for a word that the model does not know."""
        return [self.number.get(word, 0) for word in text.split()[-self.window :]] or [0]

    def clear(self, row: int) -> None:
        """Make a row of the cache ready for another sequence."""
        self.mask[row] = -np.inf

    def step(self, sequences: list[Sequence]) -> list[int]:
        """Take the new words of each sequence into its cache, and return the next word of each.

        Sequences with one new word each are computed as one batch, others one after the other.
        """
        if all(len(s.words) == 1 for s in sequences):
            vectors = self._forward(sequences)
        else:
            vectors = np.concatenate([self._forward([s])[-1:] for s in sequences])
        return self._choose((self.of_words @ vectors.T).T, sequences)

    def _forward(self, sequences: list[Sequence]) -> np.ndarray:
        """Return a vector for each new word: one of each sequence, or several of one."""
        words = [word for s in sequences for word in s.words]
        rows = [s.row for s in sequences for _ in s.words]
        places = np.array([s.length + n for s in sequences for n in range(len(s.words))])
        turn = np.exp(1j * places[:, None] * self.frequency)[:, None].astype(np.complex64)
        cells = (rows, places % self.window)
        self.mask[cells] = 0
        x = self.of_words[words]
        for layer, (into, out, up, down) in enumerate(self.layers):
            keys, values = self.keys[layer], self.values[layer]
            heads = (normed(x) @ into).reshape(len(words), self.heads + 2, self.head)
            turned = rotated(heads[:, :-1], turn)
            keys[rows, :, cells[1]], values[cells] = turned[:, -1], heads[:, -1]
            seen = self._attend(turned[:, :-1] / self.head**0.5, keys, values, rows, len(sequences))
            x = x + seen.reshape(x.shape) @ out
            x = x + np.maximum(normed(x) @ up, 0) @ down
        for s in sequences:
            s.length += len(s.words)
            s.words = []
        return normed(x)

    def _attend(
        self, queries: np.ndarray, keys: np.ndarray, values: np.ndarray, rows: list[int], count: int
    ) -> np.ndarray:
        if count == 1:
            scores = queries @ keys[rows[0]] + self.mask[rows[0]]
            if len(rows) > 1:  # a prompt, at the places from 0 on: no word sees those behind it
                scores[:, :, : len(rows)] += np.triu(np.full((len(rows), len(rows)), -np.inf), 1)[
                    :, None
                ]
            return softmax(scores) @ values[rows[0]]
        used = (
            max(rows) + 1
        )  # to compute the free rows below that, too, costs less than to copy the others
        spread = np.zeros((used, *queries.shape[1:]), np.float32)
        spread[rows] = queries
        scores = spread @ keys[:used]
        scores[rows] += self.mask[rows, None]
        return (softmax(scores) @ values[:used])[rows]

    def _choose(self, scores: np.ndarray, sequences: list[Sequence]) -> list[int]:
        scores[:, 0] = -np.inf  # it stands for words that are not known
        chosen = scores.argmax(1)
        by_chance = [n for n, s in enumerate(sequences) if s.temperature]
        if by_chance:
            heat = np.array([[sequences[n].temperature] for n in by_chance], np.float32)
            sums = softmax(scores[by_chance] / heat).cumsum(1)
            drawn = np.array([[sequences[n].chance.random()] for n in by_chance], np.float32)
            chosen[by_chance] = (sums < drawn * sums[:, -1:]).sum(1)
        return chosen.tolist()


def normed(x: np.ndarray) -> np.ndarray:
    return x / np.sqrt((x * x).mean(-1, keepdims=True) + 1e-5)


def rotated(x: np.ndarray, turn: np.ndarray) -> np.ndarray:
    """Turn pairs of numbers by an angle that depends on the place of the word."""
    half = x.shape[-1] // 2
    turned = (x[..., :half] + 1j * x[..., half:]) * turn
    return np.concatenate([turned.real, turned.imag], -1)


def softmax(x: np.ndarray) -> np.ndarray:
    x = np.exp(x - x.max(-1, keepdims=True))
    return x / x.sum(-1, keepdims=True)
