"""State in module globals, class attributes, closures and caches: it stays from one prediction to the next."""

import functools

from cog import BaseRunner

loaded = None
counts: dict[str, int] = {}


def get_model():
    global loaded
    if loaded is None:
        print("loading lazily")
        loaded = object()
    return loaded


@functools.lru_cache(maxsize=2)
def tokenize(text: str) -> tuple[str, ...]:
    print("tokenizing", text)
    return tuple(text.split())


class Singleton:
    instance = None

    def __new__(cls):
        if cls.instance is None:
            cls.instance = super().__new__(cls)
            cls.instance.seen = []
        return cls.instance


class Runner(BaseRunner):
    history: list[str] = []

    def run(self, text: str, options: dict = {}) -> dict:
        first = get_model() is get_model()
        self.history.append(text)
        Singleton().seen.append(text)
        counts[text] = counts.get(text, 0) + 1
        options["changed"] = True
        return {
            "tokens": tokenize(text),
            "history": self.history,
            "seen": Singleton().seen,
            "count": counts[text],
            "same": first,
            "options": len(options),
        }
