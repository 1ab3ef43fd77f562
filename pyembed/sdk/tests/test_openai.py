"""Tests of the decorator @openai, and of what the model's document says of it."""

import pytest

import cog
from cog._worker.model.load import LoadError, load_predictor
from cog._worker.schema.document import openapi
from cog._worker.static.reader import read_predictor

HEADER = """
from collections.abc import Iterator
import cog
from cog import BaseRunner, batch, openai
"""


def write(tmp_path, body):
    (tmp_path / "run.py").write_text(HEADER + body)
    return "run.py:Runner", str(tmp_path)


CHAT = """
class Runner(BaseRunner):
    @openai("chat")
    def run(self, messages: list[dict], temperature: float = 1.0) -> Iterator[str]:
        yield "hi"
"""

GOOD = {
    "chat": CHAT,
    "completions": """
class Runner(BaseRunner):
    @openai("completions")
    async def run(self, prompt: str) -> str:
        return prompt
""",
    "embeddings": """
class Runner(BaseRunner):
    @openai("embeddings")
    @batch(max_size=8)
    def run(self, input: list[str]) -> list[list[float]]:
        return [[1.0] for _ in input]
""",
    "transcriptions": """
class Runner(BaseRunner):
    @openai("transcriptions")
    def run(self, file: cog.Path, language: str = "en") -> str:
        return "text"
""",
    "images": """
class Runner(BaseRunner):
    @openai("images")
    def run(self, prompt: str) -> cog.Path:
        return cog.Path("a.png")
""",
    "speech": """
class Runner(BaseRunner):
    @openai("speech")
    def run(self, input: str, voice: str = "alloy") -> Iterator[cog.Path]:
        yield cog.Path("a.wav")
""",
    "rerank": """
class Runner(BaseRunner):
    @openai("rerank")
    def run(self, query: str, documents: list[str]) -> list[float]:
        return [1.0 for _ in documents]
""",
}


@pytest.mark.parametrize("endpoint", sorted(GOOD))
class TestDocument:
    def test_imported(self, tmp_path, endpoint):
        loaded = load_predictor(*write(tmp_path, GOOD[endpoint]))
        assert loaded.openai == endpoint
        assert openapi(loaded)["paths"]["/predictions"]["post"]["x-cog-openai"] == endpoint

    def test_read_from_source(self, tmp_path, endpoint):
        read = read_predictor(*write(tmp_path, GOOD[endpoint]))
        assert openapi(read)["paths"]["/predictions"]["post"]["x-cog-openai"] == endpoint


COUNTER = """
    @openai("count_tokens")
    def count(self, messages: list[dict], tools: list[dict] | None = None) -> int:
        return len(messages)
"""


@pytest.mark.parametrize("load", [load_predictor, read_predictor])
def test_counter(tmp_path, load):
    loaded = load(*write(tmp_path, CHAT + COUNTER))
    assert openapi(loaded)["paths"]["/predictions"]["post"]["x-cog-counts"] is True
    assert loaded.function.__name__ == "run"


def test_absent_without_the_decorator(tmp_path):
    body = "class Runner(BaseRunner):\n    def run(self, messages: list[dict]) -> str:\n        return ''\n"
    loaded = load_predictor(*write(tmp_path, body))
    assert loaded.openai == ""
    assert "x-cog-openai" not in openapi(loaded)["paths"]["/predictions"]["post"]


@pytest.mark.parametrize("load", [load_predictor, read_predictor])
@pytest.mark.parametrize(
    ("body", "message"),
    [
        (CHAT.replace("messages", "conversation"), 'requires a parameter "messages".*`messages: list'),
        (GOOD["embeddings"].replace("input:", "text:"), 'requires a parameter "input"'),
        (GOOD["transcriptions"].replace("file:", "audio:"), 'requires a parameter "file"'),
        (CHAT.replace('"chat"', '"embeddings"').replace("messages", "input"), "must return its whole output at once"),
        (
            CHAT + '    @openai("embeddings")\n    def embed(self, input: str) -> list[float]:\n        return [1.0]\n',
            "Runner.embed has @openai, but clients reach only Runner.run",
        ),
        (CHAT + COUNTER.replace("def count", "async def count"), "Runner.count .*is async; make it a def"),
        (CHAT.replace('"chat"', '"count_tokens"'), "is of a method beside the function"),
    ],
)
def test_mistakes(tmp_path, load, body, message):
    with pytest.raises(LoadError, match=message):
        load(*write(tmp_path, body))


class TestDecorator:
    def test_unknown_endpoint(self):
        with pytest.raises(ValueError, match=r"one of \"chat\".* not 'chats'"):
            cog.openai("chats")

    def test_without_an_endpoint(self):
        with pytest.raises(TypeError, match="missing endpoint"):
            cog.openai(lambda messages: "")

    def test_on_no_function(self):
        with pytest.raises(TypeError, match="must decorate a function, not int"):
            cog.openai("chat")(3)
