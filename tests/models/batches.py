"""Batches: writes down each call, and does what the texts say."""

from __future__ import annotations

import asyncio
import os
import time

import cog


def note(line: str) -> None:
    with open("batches.txt", "a") as ledger:
        ledger.write(line + "\n")


def step(text: str) -> object:
    if text == "die":
        os._exit(3)
    if text.startswith("die-with-company"):
        raise SystemExit("unused")
    if text.startswith("raise"):
        raise ValueError(f"no {text} here")
    if text.startswith("bad"):
        return ValueError(f"{text} alone")
    return text.upper()


class Runner(cog.BaseRunner):
    @cog.batch(max_size=8)
    def run(self, text: list[str], times: int = 1) -> list[str]:
        """Answer in capitals; "gate" waits for the file of that name."""
        note(f"{times} {' '.join(text)}")
        print("batch of", len(text))
        self.record_metric("company", len(text))
        if "gate" in text:
            while not os.path.exists("gate"):
                time.sleep(0.001)
        if "short" in text:
            return ["one too few"] * (len(text) - 1)
        if "mass" in text and len(text) > 1:
            os._exit(4)
        return [step(t) * times if isinstance(step(t), str) else step(t) for t in text]  # type: ignore[misc, operator]


class Tasks(cog.BaseRunner):
    @cog.batch(max_size=8)
    async def run(self, text: list[str], times: int = 1) -> list[str]:
        note(f"{times} {' '.join(text)}")
        print("batch of", len(text))
        while "gate" in text and not os.path.exists("gate"):
            await asyncio.sleep(0.001)
        return [step(t) * times if isinstance(step(t), str) else step(t) for t in text]  # type: ignore[misc, operator]


class Unforgiving(cog.BaseRunner):
    @cog.batch(max_size=8, isolate=False)
    def run(self, text: list[str]) -> list[str]:
        note(" ".join(text))
        while "gate" in text and not os.path.exists("gate"):
            time.sleep(0.001)
        return [str(step(t)) for t in text]


class Stages(cog.BaseRunner):
    """What comes before and after runs once for each, beside the batch."""

    def preprocess(self, text: str) -> str:
        print("before", text)
        note(f"before {text}")
        self.record_metric("letters", len(text))
        if text.startswith("refuse"):
            raise ValueError(f"{text} is refused")
        return text + "!"

    @cog.batch(max_size=4)
    def run(self, items: list[str]) -> list[str]:
        note("run " + " ".join(items))
        while "gate!" in items and not os.path.exists("gate"):
            time.sleep(0.001)
        return [i.upper() for i in items]

    def postprocess(self, output: str) -> dict[str, str]:
        print("after", output)
        note(f"after {output}")
        return {"text": output}
