"""Iterators as lists, each item encoded as it comes."""

from __future__ import annotations

import asyncio

import pytest

from cog import Path
from cog._worker.values.encode import encode
from cog._worker.values.iterators import collect, collect_async, converter, iterable, listed
from cog.errors import OutputError


def test_a_file_is_read_before_the_next_one_is_asked_for(tmp_path):
    path = Path(tmp_path / "same.txt")

    def frames():
        for text in ("one", "two"):
            path.write_text(text)
            yield path
        path.unlink()

    assert collect(frames(), encode) == ["data:text/plain;base64,b25l", "data:text/plain;base64,dHdv"]


def test_plain_items_are_unchanged():
    assert collect(iter(["a", 1, 2.5, None, True]), encode) == ["a", 1, 2.5, None, True]
    assert collect(range(3), encode) == [0, 1, 2]


def test_an_item_that_cannot_be_encoded_ends_the_iterator():
    ended = []

    def items():
        try:
            yield 1
            yield {"mask": b""}
            yield 3
        finally:
            ended.append(True)

    with pytest.raises(OutputError, match=r"output\[1\]\.mask is of type bytes"):
        collect(items(), encode)
    assert ended == [True]


def test_async_iterators(tmp_path):
    ended = []

    async def items(last):
        try:
            yield (1, 2)
            yield last
        finally:
            ended.append(last)

    assert asyncio.run(collect_async(items("x"), encode)) == [[1, 2], "x"]
    with pytest.raises(OutputError, match=r"output\[1\] is of type bytes"):
        asyncio.run(collect_async(items(b""), encode))
    assert ended == ["x", b""]


@pytest.mark.parametrize(
    ("definition", "expected"),
    [
        ("def run() -> list[str]: ...", listed),
        ("def run() -> set[str]: ...", listed),
        ("async def run() -> List[str]: ...", listed),
        ("async def run() -> AsyncIterator[str]: ...", listed),
        ("def run() -> Iterator[str]: ...", iterable),
        ("def run() -> ConcatenateIterator[str]: ...", iterable),
        ("def run() -> list[str]: yield 'a'", None),
        ("def run() -> Iterator[str]: yield 'a'", None),
        ("async def run() -> AsyncIterator[str]: yield 'a'", None),
        ("def run() -> str: ...", None),
        ("def run() -> dict: ...", None),
        ("def run(): ...", None),
    ],
)
def test_what_converts_a_returned_value(model, definition, expected):
    predictor = model(f"from typing import *\nfrom cog import *\n{definition}\n")
    assert converter(predictor) is expected


def test_a_list_that_was_promised(tmp_path):
    path = Path(tmp_path / "a.txt")
    path.write_text("a")
    assert listed(None, encode) == []
    assert listed("ab", encode) == ["ab"]
    assert listed({"a": (1,)}, encode) == [{"a": [1]}]
    assert listed((1, {2}), encode) == [1, [2]]
    assert listed(map(str, (1, 2)), encode) == ["1", "2"]
    assert listed((c for c in "ab"), encode) == ["a", "b"]
    assert listed(path, encode) == ["data:text/plain;base64,YQ=="]
    with path.open("rb") as file:
        assert listed(file, encode) == ["data:text/plain;base64,YQ=="]


def test_an_iterator_that_was_promised():
    items = iter("ab")
    assert iterable(items, encode) is items
    assert iterable(None, encode) == ()
    for value in ("ab", b"ab", {"a": 1}, 5):
        assert iterable(value, encode) == (value,)
