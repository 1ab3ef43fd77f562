"""Models that do what their input says, step by step: for the scripts of tests/conformance.

A step is a word and the rest of its line:

    print TEXT, warn TEXT       to stdout, to stderr
    yield JSON                  an item of a stream
    return JSON                 the end
    metric NAME JSON [MODE]     records a metric
    wait NAME                   waits at a named pipe in the model's folder
    sleep                       until it is canceled; says so
    stubborn NAME               sleeps until it is canceled, and then waits at a named pipe
    fail TEXT                   raises ValueError
    cancel TEXT                 raises CancelationException without a cancel
    cancel-task TEXT            likewise asyncio.CancelledError
    file NAME TEXT              a file as an item or as what is returned
    context                     returns the context
    exit CODE                   ends the process
"""

import json
import os
import time
from typing import Any, AsyncIterator, Iterator

from cog import BaseRunner, CancelationException, Path, current_scope, streaming


def act(step: str) -> tuple[str, Any]:
    """Take a step; what it returns is "", or "yield" or "return" and a value."""
    word, _, rest = step.partition(" ")
    if word == "print":
        print(rest)
    elif word == "warn":
        import sys

        print(rest, file=sys.stderr)
    elif word in ("yield", "return"):
        return word, json.loads(rest)
    elif word == "metric":
        name, value, *mode = rest.split(" ")
        current_scope().record_metric(name, json.loads(value), *mode)
    elif word == "wait":
        print("waits at", rest)
        with open(rest) as gate:
            gate.read()
    elif word == "sleep":
        print("sleeps")
        try:
            time.sleep(1000)
        except CancelationException:
            print("woken by a cancel")
            raise
    elif word == "stubborn":
        try:
            act("sleep")
        finally:
            act(f"wait {rest}")
    elif word == "fail":
        raise ValueError(rest)
    elif word == "cancel":
        raise CancelationException(rest)
    elif word == "cancel-task":
        import asyncio

        raise asyncio.CancelledError(rest)
    elif word == "file":
        name, _, text = rest.partition(" ")
        os.makedirs("made", exist_ok=True)
        path = Path("made") / name
        path.write_text(text)
        return "file", path
    elif word == "files":  # several, at some depth
        os.makedirs("made", exist_ok=True)
        paths = []
        for name in rest.split(" "):
            paths.append(Path("made") / name)
            paths[-1].write_text(name)
        return "file", {"list": paths, "one": {"deep": paths[0]}}
    elif word == "context":
        return "return", current_scope().context
    elif word == "exit":
        os._exit(int(rest))
    elif word:
        raise ValueError(f"no such step: {step}")
    return "", None


class Runner(BaseRunner):
    """Returns."""

    def run(self, do: list[str] = []) -> Any:
        for step in do:
            kind, value = act(step)
            if kind:
                return value
        return None


class Stream(BaseRunner):
    """Yields, and may be streamed."""

    @streaming
    def run(self, do: list[str] = []) -> Iterator[Any]:
        for step in do:
            kind, value = act(step)
            if kind:
                yield value


class AsyncStream(BaseRunner):
    """The same as a coroutine. It must not be told to wait."""

    @streaming
    async def run(self, do: list[str] = []) -> AsyncIterator[Any]:
        import asyncio

        for step in do:
            await asyncio.sleep(0)
            if step == "sleep":
                print("sleeps")
                try:
                    await asyncio.sleep(1000)
                except asyncio.CancelledError:
                    print("woken by a cancel")
                    raise
            elif step.startswith("wait "):
                loop = asyncio.get_running_loop()
                await loop.run_in_executor(None, act, step)
            else:
                kind, value = act(step)
                if kind:
                    yield value


class Checked(BaseRunner):
    """Has a healthcheck, which says what stands in the file health.txt."""

    def healthcheck(self) -> bool:
        if not os.path.exists("health.txt"):
            return True
        with open("health.txt") as file:
            text = file.read()
        if text == "hang":
            time.sleep(1000)
        if text.startswith("raise "):
            raise ValueError(text[6:])
        return text == "well"

    def run(self, do: list[str] = []) -> Any:
        return Runner.run(self, do)


class Broken(BaseRunner):
    """Cannot be set up."""

    def setup(self) -> None:
        print("about to fail")
        raise FileNotFoundError("weights.bin is not there")

    def run(self) -> str:
        return ""


class Gated(BaseRunner):
    """Its setup waits at a gate."""

    def setup(self) -> None:
        act("wait setup")

    def run(self) -> str:
        return "through"


def train(do: list[str] = [], n: int = 1) -> Any:
    """A training."""
    for step in do:
        kind, value = act(step)
        if kind:
            return value
    return n
