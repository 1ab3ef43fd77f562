"""A small language model: an n-gram model of words, trained at setup on the documentation that comes with Python."""

import random
import re
from collections import Counter, defaultdict
from collections.abc import Iterator
from pydoc_data.topics import topics

import cog
from cog import BaseRunner, Input

ORDER = 3  # words that the next one depends on


class Runner(BaseRunner):
    def setup(self) -> None:
        words = re.findall(r"\s*\S+", " ".join(topics.values()))
        self.next = defaultdict(Counter)
        for i in range(len(words) - 1):
            for n in range(ORDER + 1):
                if n <= i + 1:
                    key = tuple(word.strip().lower() for word in words[i + 1 - n : i + 1])
                    self.next[key][words[i + 1]] += 1

    @cog.openai("chat")
    def run(
        self,
        messages: list[dict],
        temperature: float = Input(default=0.7, ge=0, le=2),
        max_tokens: int = Input(default=64, ge=1, le=4096),
        seed: int | None = None,
    ) -> Iterator[str]:
        chance = random.Random(seed)
        text = messages[-1]["content"].lower().split()
        self.record_metric(
            "input_token_count", sum(len(str(m["content"]).split()) for m in messages)
        )
        for n in range(max_tokens):
            word = self.choose(text, temperature, chance)
            text.append(word.strip().lower())
            self.record_metric("output_token_count", n + 1)
            yield word if n else word.lstrip()

    def choose(self, text: list[str], temperature: float, chance: random.Random) -> str:
        """Return the next word, by the longest end of the text that the training text has."""
        for n in range(min(ORDER, len(text)), -1, -1):
            counts = self.next.get(tuple(text[len(text) - n :]))
            if counts and temperature:
                weights = [count ** (1 / temperature) for count in counts.values()]
                return chance.choices(list(counts), weights)[0]
            if counts:
                return max(counts, key=lambda word: (counts[word], word))
        return ""
