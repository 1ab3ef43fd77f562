"""Streamed inputs: faults of their functions, and what the model gets of a list or a file."""

from __future__ import annotations

import asyncio

import pytest

from cog._worker.model.load import LoadError
from cog._worker.values.coerce import make_prepare

ASYNC = "import cog\nfrom collections.abc import AsyncIterator, Iterator\nfrom cog import Path\n"


@pytest.mark.parametrize(
    ("source", "mode", "message"),
    [
        ("async def run(x: Iterator[str]) -> str: ...", "predict", "as AsyncIterator[str]"),
        ("def run(x: AsyncIterator[bytes]) -> str: ...", "predict", "as Iterator[bytes]"),
        ("def train(x: Iterator[str]) -> str: ...", "train", "a training has no streamed input"),
        (
            "@cog.batch(max_size=4)\ndef run(text: list[str], x: Iterator[str]) -> list[str]: ...",
            "predict",
            "decorate a method of the model with @batch",
        ),
    ],
)
def test_faults(model, source, mode, message):
    with pytest.raises(LoadError) as caught:
        model(ASYNC + source, "model.py", mode)
    assert message in str(caught.value)
    assert 'parameter "x" of' in str(caught.value)


@pytest.mark.parametrize(
    ("items", "values", "wanted"),
    [
        ("str", ["a", "b"], ["a", "b"]),
        ("float", [1, 2.5], [1.0, 2.5]),
        ("bytes", ["aGk=", "data:text/plain,h%69", ""], [b"hi", b"hi", b""]),
        ("Path", ["/a"], "[Path('/a')]"),
    ],
)
def test_a_list(model, items, values, wanted):
    for source in (
        f"def run(x: Iterator[{items}]) -> str: ...",
        f"async def run(x: AsyncIterator[{items}]) -> str: ...",
    ):
        prepare = make_prepare(model(ASYNC + source, "model.py").signature)
        given = prepare({"x": list(values)})["x"]

        async def gather(given=given):
            return [item async for item in given]

        found = asyncio.run(gather()) if "async" in source else list(given)
        assert repr(found) == wanted if isinstance(wanted, str) else found == wanted


def test_a_file_is_read_in_pieces(model, tmp_path):
    (tmp_path / "x").write_bytes(b"a" * (64 << 10) + b"b")
    source = ASYNC + "def run(x: Iterator[bytes]) -> str: ..."
    prepare = make_prepare(model(source, "model.py").signature)
    assert list(prepare({"x": str(tmp_path / "x")})["x"]) == [b"a" * (64 << 10), b"b"]
