"""Tests of the decorator @tool, and of what the model's document says of it."""

import pytest

import cog
from cog._worker.model.load import load_predictor
from cog._worker.schema.document import openapi
from cog._worker.static.reader import read_predictor

MODEL = """
import cog


class Runner(cog.BaseRunner):
    {}
    def run(self, {}) -> {}:
        return text
"""
PLAIN = ("text: str", "str")
BATCH = ("text: list[str]", "list[str]")


@pytest.mark.parametrize("load", [load_predictor, read_predictor])
@pytest.mark.parametrize(
    ("decorator", "signature", "told"),
    [
        (
            '@cog.tool(title="Écho", read_only=True, destructive=False, open_world=False, task=True)',
            PLAIN,
            {"title": "Écho", "read_only": True, "destructive": False, "open_world": False, "task": True},
        ),
        ("@cog.tool(idempotent=True)\n    @cog.batch(max_size=2)", BATCH, {"idempotent": True}),
        ("@cog.batch(max_size=2)\n    @cog.tool(idempotent=True)", BATCH, {"idempotent": True}),
        ("@cog.tool()", PLAIN, None),
        ("@cog.concurrent(max=2)", PLAIN, None),
    ],
)
def test_document(tmp_path, load, decorator, signature, told):
    (tmp_path / "run.py").write_text(MODEL.format(decorator, *signature))
    loaded = load("run.py:Runner", str(tmp_path))
    assert openapi(loaded)["paths"]["/predictions"]["post"].get("x-cog-tool") == told


@pytest.mark.parametrize(
    ("given", "error", "message"),
    [
        ({"title": 1}, TypeError, "title must be a str, not int"),
        ({"title": " "}, ValueError, "title must not be empty"),
        ({"open_world": 1}, TypeError, "open_world must be a bool, not int"),
        ({"read_only": True, "destructive": True}, ValueError, "read_only cannot be destructive"),
    ],
)
def test_mistakes(given, error, message):
    with pytest.raises(error, match=message):
        cog.tool(**given)


def test_without_parentheses():
    with pytest.raises(TypeError, match="0 positional arguments"):
        cog.tool(lambda text: text)
