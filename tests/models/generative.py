"""Models that OpenAI's clients ask: one for each endpoint."""

from __future__ import annotations

import base64
import time
from collections.abc import Iterator
from typing import Union

import cog
from cog import BaseRunner, Path

PIXEL = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)


class Chat(BaseRunner):
    """Calls the first tool if there is one, and else repeats the last message."""

    @cog.openai("chat")
    def run(self, messages: list[dict], tools: list[dict] | None = None) -> Iterator[dict]:
        text = messages[-1]["content"]
        self.record_metric("input_token_count", len(messages))
        if tools and messages[-1]["role"] != "tool":
            name = tools[0]["function"]["name"]
            self.record_metric("output_token_count", 1)
            yield {"tool_calls": [{"index": 0, "id": "call_1", "function": {"name": name}}]}
            for part in ('{"city": ', '"Rome"}'):
                yield {"tool_calls": [{"index": 0, "function": {"arguments": part}}]}
            return
        if text == "refuse":
            yield {"refusal": "no"}
            return
        for n, word in enumerate(text.split()):
            if word == "fail":
                raise ValueError("the model failed")
            if word == "bad":
                yield 7
            while word == "forever":
                time.sleep(0.01)
            self.record_metric("output_token_count", n + 1)
            yield {"content": word if n == 0 else " " + word}
        yield {"finish_reason": "length" if "long" in text else "stop"}


class Agent(BaseRunner):
    """Calls the tool that the last message of the user names, with the arguments behind it."""

    @cog.openai("count_tokens")
    def count(self, messages: list[dict], tools: list[dict] | None = None) -> int:
        return sum(len(m["content"].split()) for m in messages) + len(tools or [])

    @cog.openai("chat")
    def run(self, messages: list[dict], tools: list[dict] | None = None) -> Iterator[dict]:
        texts = [text_of(m.get("content")) for m in messages]
        text = texts[-1].splitlines()[-1] if texts[-1] else ""
        asked = next((t for t in reversed(texts) if "\ncall " in "\n" + t), "")
        if messages[-1]["role"] == "tool":
            yield {"content": "the tool said: "}
            yield {"content": texts[-1]}
        elif text == "recall":
            yield {"content": "".join(m.get("reasoning_content", "") for m in messages)}
        elif text == "think":
            yield {"reasoning_content": "let me "}
            yield {"reasoning_content": "see"}
        elif tools and asked:
            line = next(line for line in asked.splitlines() if line.startswith("call "))
            name, _, arguments = line.removeprefix("call ").partition(" ")
            yield {"tool_calls": [{"index": 0, "id": "call_1", "function": {"name": name}}]}
            for at in range(0, len(arguments), 5):
                yield {"tool_calls": [{"index": 0, "function": {"arguments": arguments[at : at + 5]}}]}
        else:
            yield {"content": text}


def text_of(content: str | list[dict] | None) -> str:
    """Return the text of a message."""
    if isinstance(content, list):
        return "\n".join(part.get("text", "") for part in content)
    return content or ""


class Embedder(BaseRunner):
    @cog.openai("embeddings")
    @cog.batch(max_size=8)
    def run(self, input: list[str]) -> list[list[float]]:
        return [[float(len(text)), 0.5, -1e-3] for text in input]


class Transcriber(BaseRunner):
    @cog.openai("transcriptions")
    def run(self, file: Path, language: str = "en") -> dict:
        words = file.read_bytes().decode().split()
        segments = [{"start": n, "end": n + 0.5, "text": word} for n, word in enumerate(words)]
        return {"text": " ".join(words), "language": language, "segments": segments}


class Dictation(BaseRunner):
    @cog.openai("transcriptions")
    def run(self, file: Path) -> Iterator[str]:
        for n, word in enumerate(file.read_text().split()):
            yield word if n == 0 else " " + word


class Painter(BaseRunner):
    @cog.openai("images")
    def run(self, prompt: str) -> Path:
        if not prompt:
            raise ValueError("nothing to paint")
        out = Path("pixel.png")
        out.write_bytes(PIXEL)
        return out


class Speaker(BaseRunner):
    """Yields a file for each word."""

    @cog.openai("speech")
    def run(self, input: str, voice: str = "alloy", response_format: str = "wav") -> Iterator[Path]:
        self.record_metric("output_token_count", len(input.split()))
        for n, word in enumerate(input.split()):
            if word == "fail":
                raise ValueError("the model failed")
            out = Path(f"{n}.{response_format}")
            out.write_bytes(f"{voice}:{word}\n".encode())
            yield out
            while word == "forever":
                time.sleep(0.01)


class Mute(BaseRunner):
    """Yields what is not audio."""

    @cog.openai("speech")
    def run(self, input: str) -> Iterator[str]:
        yield "https://example.com/a.wav"


class Speaking(BaseRunner):
    """Yields WAV, whatever the client wants."""

    @cog.openai("speech")
    def run(self, input: str) -> Iterator[Path]:
        for n, word in enumerate(input.split()):
            out = Path(f"{n}.wav")
            out.write_bytes(word.encode())
            yield out


class Recording(BaseRunner):
    """Returns one file."""

    @cog.openai("speech")
    def run(self, input: str) -> Path:
        out = Path("a.mp3")
        out.write_bytes(input.encode() * 1000)
        return out


class Ranker(BaseRunner):
    """Scores by how many characters of the query a document has."""

    @cog.openai("rerank")
    def run(self, query: str, documents: list[str]) -> list[float]:
        self.record_metric("input_token_count", len(documents))
        if query == "short":
            return [0.5]
        return [sum(map(text.count, query)) / 10 for text in documents]


class PairRanker(BaseRunner):
    """The same, one document at a time."""

    @cog.openai("rerank")
    @cog.batch(max_size=8)
    def run(self, query: list[str], documents: list[str]) -> list[float]:
        return [sum(map(t.count, q)) / 10 for q, t in zip(query, documents)]


class Completer(BaseRunner):
    """Yields the prompt in pieces of three characters."""

    @cog.openai("completions")
    def run(self, prompt: str, suffix: str = "") -> Iterator[str]:
        if prompt == "fail":
            raise ValueError("the model failed")
        self.record_metric("input_token_count", len(prompt))
        for n, at in enumerate(range(0, len(prompt), 3)):
            self.record_metric("output_token_count", n + 1)
            yield prompt[at : at + 3]
        yield suffix


class Tokens(BaseRunner):
    """Takes token ids alone."""

    @cog.openai("completions")
    def run(self, prompt: list[int]) -> str:
        return "-".join(map(str, prompt))


class TokenEmbedder(BaseRunner):
    """Embeds texts and token ids."""

    @cog.openai("embeddings")
    def run(self, input: Union[str, list[int]]) -> list[float]:
        return [float(len(input)), 1.0 if isinstance(input, str) else 2.0]
