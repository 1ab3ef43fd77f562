"""Generated outputs, compared with a reference that takes one step at a time.

What is tested keeps what it can and recurses where it must; the reference rebuilds everything.
The seed is fixed, so that a run can be repeated.
"""

from __future__ import annotations

import base64
import collections
import dataclasses
import datetime
import decimal
import enum
import json
import math
import os
import uuid
from typing import Any, NamedTuple, Optional

import pytest

pytest.importorskip("hypothesis")
from hypothesis import given, settings
from hypothesis import strategies as st

from cog import BaseModel, Path, Secret
from cog._worker.values.encode import encode
from cog.errors import OutputError

examples = 250 if os.environ.get("PINION_TEST_FULL") else 100
repeatable = settings(derandomize=True, deadline=None, database=None, max_examples=examples)


class Color(enum.Enum):
    RED = "red"
    DEEP = ("a", 1)


class Level(enum.IntEnum):
    HIGH = 10


class Word(str):
    pass


class Count(int):
    pass


class Ratio(float):
    pass


class Row(NamedTuple):
    left: Any
    right: Any


class Box(BaseModel):
    label: Any
    inner: Optional[Any] = None


@dataclasses.dataclass(frozen=True)
class Page:
    items: Any


class Loose(BaseModel, auto_dataclass=False):
    def __init__(self, value):
        self.value = value
        self._private = object()


# ---- the reference ----


def reference(value):
    """Return the JSON data that a value is to become."""
    if isinstance(value, enum.Enum):
        return reference(value.value)
    if hasattr(value, "dtype"):
        return reference(value.tolist())
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, str):
        return "".join(value)
    if isinstance(value, int):
        return value + 0
    if isinstance(value, float):
        return value * 1.0
    if isinstance(value, (Box, Page)):
        return {f.name: reference(getattr(value, f.name)) for f in dataclasses.fields(value)}
    if isinstance(value, Loose):
        return {"value": reference(value.value)}
    if isinstance(value, Secret):
        return "**********"
    if isinstance(value, Path):
        content = base64.b64encode(value.read_bytes()).decode()
        return f"data:text/plain;base64,{content}"
    if isinstance(value, (datetime.date, datetime.time)):
        return value.isoformat()
    if isinstance(value, (uuid.UUID, decimal.Decimal)):
        return str(value)
    if isinstance(value, collections.abc.Mapping):
        return {reference_key(key): reference(item) for key, item in value.items()}
    if hasattr(value, "model_dump"):
        return reference(value.model_dump())
    return [reference(item) for item in value]


def reference_key(key):
    if isinstance(key, enum.Enum):
        key = key.value
    if isinstance(key, uuid.UUID):
        return str(key)
    return key if isinstance(key, str) else json.loads(json.dumps({key: 0}).partition(": ")[0][1:])


def same(found, wanted):
    """Compare values and types: what comes out is of JSON's own types, not of their subclasses."""
    if type(found) is not type(wanted):
        return False
    if isinstance(found, list):
        return len(found) == len(wanted) and all(map(same, found, wanted))
    if isinstance(found, dict):
        return list(found) == list(wanted) and all(map(same, found.values(), wanted.values()))
    if isinstance(found, float):
        return found == wanted and math.copysign(1, found) == math.copysign(1, wanted)
    return bool(found == wanted)


# ---- values ----

texts = st.text(max_size=5)
floats = st.floats(allow_nan=False, allow_infinity=False)
hashable = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**70), 2**70),
    floats,
    texts,
    st.sampled_from([Color.RED, Color.DEEP, Level.HIGH]),
    texts.map(Word),
    st.integers(-9, 9).map(Count),
    floats.map(Ratio),
    st.datetimes(timezones=st.none() | st.just(datetime.timezone.utc)),
    st.dates(),
    st.times(),
    st.uuids(),
    st.decimals(allow_nan=False, allow_infinity=False, places=2),
)
leaves = hashable | st.just(Secret("hunter2")) | st.binary(max_size=3).map(bytes.hex)
keys = st.one_of(
    texts, st.integers(-9, 9), st.booleans(), st.none(), floats, st.uuids(), st.just(Level.HIGH), st.just(Color.RED)
)


def distinct(pairs):
    """Drop keys that JSON writes alike: the later one would win."""
    found = {}
    for key, value in pairs:
        if reference_key(key) not in map(reference_key, found):
            found[key] = value
    return found


def around(inner):
    lists = st.lists(inner, max_size=3)
    return st.one_of(
        lists,
        lists.map(tuple),
        lists.map(collections.deque),
        st.lists(hashable, max_size=3).map(set),
        st.frozensets(hashable, max_size=3),
        st.lists(st.tuples(keys, inner), max_size=3).map(distinct),
        st.lists(st.tuples(texts, inner), max_size=3).map(collections.OrderedDict),
        st.builds(Row, inner, inner),
        st.builds(Box, inner, inner),
        st.builds(Box, inner),
        st.builds(Page, inner),
        st.builds(Loose, inner),
        st.integers(0, 3).map(range),
    )


values = st.recursive(leaves, around, max_leaves=10)


@repeatable
@given(values)
def test_outputs_are_as_the_reference_makes_them(value):
    found = encode(value)
    assert same(found, reference(value))
    again = json.loads(json.dumps(found))
    assert same(again, found)
    assert same(encode(found), found)  # JSON data is its own encoding


@repeatable
@given(st.lists(st.text(st.characters(codec="utf-8"), max_size=5), max_size=3), values)
def test_files_at_any_depth(tmp_path_factory, contents, value):
    folder = tmp_path_factory.mktemp("files")
    paths = []
    for number, content in enumerate(contents):
        path = Path(folder / f"{number}.txt")
        path.write_bytes(content.encode())
        paths.append(path)
    output = {"files": paths, "nested": [Box(path, [value]) for path in paths]}
    assert same(encode(output), reference(output))


# ---- what cannot be encoded is named with its place ----

BAD = [b"bytes", object(), math.nan, math.inf, -math.inf, 1j, Ellipsis, len, Color, {(1, 2): 3}]
steps = st.lists(
    st.one_of(
        st.integers(0, 3),
        st.sampled_from(["mask", "größe", "a_1"]),
        st.sampled_from(["two words", "", "1a", "x.y"]),
        st.just(Box),
        st.just(Row),
    ),
    max_size=6,
)


@repeatable
@given(steps, st.sampled_from(range(len(BAD))), values)
def test_a_refusal_names_the_place(way, bad, beside):
    value: Any = BAD[bad]
    place = ""
    for step in reversed(way):
        if isinstance(step, int):
            value, place = [beside] * step + [value], f"[{step}]" + place
        elif step is Box:
            value, place = Box(beside, value), ".inner" + place
        elif step is Row:
            value, place = Row(value, beside), "[0]" + place
        else:
            value = {"before": beside, step: value}
            place = (f".{step}" if step.isidentifier() else f"[{step!r}]") + place
    with pytest.raises(OutputError) as caught:
        encode(value)
    assert str(caught.value).startswith(f"output{place} "), (str(caught.value), place)


# ---- numpy and pydantic ----


@repeatable
@given(st.data())
def test_arrays(data):
    np = pytest.importorskip("numpy")
    shape = data.draw(st.lists(st.integers(0, 3), max_size=3))
    dtype = data.draw(st.sampled_from(["f2", "f4", "f8", "i1", "u2", "i8", "u8", "?"]))
    count = math.prod(shape)
    drawn = data.draw(st.lists(st.integers(0, 100), min_size=count, max_size=count))
    array = np.array(drawn, dtype=dtype).reshape(shape)
    transposed = np.asfortranarray(array).T
    output = {"array": array, "scalars": list(array.flat)[:3], "transposed": transposed}
    found = encode(output)
    assert same(found, reference(output))
    assert same(json.loads(json.dumps(found)), found)
    if dtype.startswith("f") and count:
        place = data.draw(st.integers(0, count - 1))
        array.flat[place] = data.draw(st.sampled_from([np.nan, np.inf, -np.inf]))
        index = "".join(f"[{int(i)}]" for i in np.unravel_index(place, array.shape))
        with pytest.raises(OutputError) as caught:
            encode(output)
        assert str(caught.value).startswith(f"output.array{index} is "), caught.value


@repeatable
@given(values)
def test_pydantic_models(value):
    pydantic = pytest.importorskip("pydantic", minversion="2")

    class Model(pydantic.BaseModel):
        value: Any
        children: list["Model"] = []

    output = Model(value=1, children=[Model(value=encode(value))])
    assert same(encode([output]), [{"value": 1, "children": [_child(encode(value))]}])


def _child(value):
    return {"value": value, "children": []}
