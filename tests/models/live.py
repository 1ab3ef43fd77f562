"""Models that tests/browser looks at through the live view at /dashboard, and one for pictures of the pages."""

import asyncio
import os
import random
import sys
import time

from cog import BaseRunner, ConcatenateIterator, Input, batch, concurrent, streaming


class Live(BaseRunner):
    """Waits for a file where an input names one."""

    @concurrent(max=4)
    async def run(self, text: str = "a cat", gate: str = "") -> str:
        print("working on", text)
        if text == "odd":
            raise type("constructor", (Exception,), {"__module__": "builtins"})("as JavaScript's")
        if text == "fail":
            raise ValueError("no <b>words</b> for this")
        while gate and not os.path.exists(gate):
            await asyncio.sleep(0.002)
        print("done with", text)
        return f"output of {text}"


class Batched(BaseRunner):
    @batch(max_size=8)
    def run(self, text: list[str], gate: str = "") -> list[str]:
        while gate and not os.path.exists(gate):
            time.sleep(0.002)
        return [t.upper() for t in text]


class Unset(BaseRunner):
    """Loads weights until a file is there, and then fails."""

    def setup(self) -> None:
        for i in range(46):
            print(f"\rweights: {i}%|", end="", file=sys.stderr, flush=True)
        while not os.path.exists("open"):
            time.sleep(0.002)
        raise RuntimeError("no <b>weights</b> here")

    def run(self) -> str:
        return ""


class Painter(BaseRunner):
    """Paints a picture from a few words, in the style of your choice. A demonstration: it paints coloured tiles."""

    @concurrent(max=16)
    async def run(
        self,
        prompt: str = Input(default="a red fox in the snow", description="What to paint"),
        style: str = Input(default="watercolour", choices=["watercolour", "oil", "pencil"], description="How it looks"),
        steps: int = Input(default=20, ge=1, le=50, description="More steps give finer tiles"),
        seed: int = Input(default=7, description="The same seed gives the same picture"),
    ) -> str:
        await asyncio.sleep(random.lognormvariate(-3.2, 0.6))
        if prompt == "":
            raise ValueError("the prompt is empty: say what to paint")
        print(f"painting {prompt!r}, {style}")
        return picture(random.Random(f"{prompt} {style} {seed}"), steps)


def picture(chance: random.Random, steps: int) -> str:
    """Return an SVG as a data URL."""
    n = max(4, steps // 2)
    hue = chance.randrange(360)
    tiles = "".join(
        f"<rect x='{x}' y='{y}' width='1.05' height='1.05' fill='hsl({hue + chance.randrange(60)} 70% {25 + 50 * y // n + chance.randrange(12)}%)'/>"
        for x in range(2 * n)
        for y in range(n)
    )
    return "data:image/svg+xml;utf8," + f"<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 {2 * n} {n}' width='960' height='480'>{tiles}</svg>".replace("%", "%25").replace("#", "%23")


class Writer(BaseRunner):
    """Writes a few words about a subject. A demonstration: it has few words."""

    def setup(self) -> None:
        print("weights: 100%|##########| 4/4")

    @concurrent(max=4)
    @streaming
    def run(self, subject: str = Input(default="the sea", description="What to write about")) -> ConcatenateIterator[str]:
        for word in f"There is much to say about {subject} and little room to say it".split():
            time.sleep(0.01)
            yield word + " "
        if subject == "everything":
            look_up(subject)


def look_up(subject: str) -> None:
    """Wait for an answer that never comes."""
    while True:
        time.sleep(1)
