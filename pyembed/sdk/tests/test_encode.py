"""From what a model returns to JSON."""

from __future__ import annotations

import collections
import dataclasses
import datetime
import decimal
import enum
import json
import math
import types
import uuid

import pytest

from cog import BaseModel, Path, Secret
from cog._worker.values.encode import encode
from cog.coder import Coder
from cog.errors import OutputError

UTC = datetime.timezone.utc


class Color(enum.Enum):
    RED = "red"
    NOTHING = None


class Level(enum.IntEnum):
    LOW = 1


class Box(BaseModel):
    left: int
    file: Path | None = None


@dataclasses.dataclass
class Page:
    boxes: list
    shared: dataclasses.InitVar[int] = 0
    kind = "class variable"


@dataclasses.dataclass(frozen=True)
class Slotted:
    __slots__ = ("a",)
    a: int


class Plain(BaseModel, auto_dataclass=False):
    def __init__(self):
        self.a, self._b = (1,), 2


class Number(int):
    def __repr__(self):
        return "no"


class Text(str):
    __slots__ = ()

    def __str__(self):
        return "no"


class Row(collections.namedtuple("Row", "a b")):
    __slots__ = ()


@pytest.mark.parametrize(
    ("value", "wanted"),
    [
        (None, None),
        (True, True),
        (3, 3),
        (2**200, 2**200),
        (2.5, 2.5),
        (1.7976931348623157e308, 1.7976931348623157e308),
        ("ä", "ä"),
        ([], []),
        ({}, {}),
        ((), []),
        (set(), []),
        ((1, (2,)), [1, [2]]),
        ({3}, [3]),
        (frozenset({3}), [3]),
        (range(3), [0, 1, 2]),
        ({"items": (x for x in (1, (2,)))}, {"items": [1, [2]]}),
        (collections.deque([1]), [1]),
        ({"a": 1}.keys(), ["a"]),
        ({"a": 1}.values(), [1]),
        (collections.OrderedDict(b=1, a=2), {"b": 1, "a": 2}),
        (types.MappingProxyType({"a": (1,)}), {"a": [1]}),
        (collections.UserDict({"a": 1}), {"a": 1}),
        (collections.UserList([1]), [1]),
        (Row(1, (2,)), [1, [2]]),
        (Number(3), 3),
        (Text("x"), "x"),
        (Color.RED, "red"),
        (Color.NOTHING, None),
        (Level.LOW, 1),
        ([Color.RED], ["red"]),
        (datetime.datetime(2020, 1, 2, 3, tzinfo=UTC), "2020-01-02T03:00:00+00:00"),
        (datetime.date(2020, 1, 2), "2020-01-02"),
        (datetime.time(3, 4), "03:04:00"),
        (uuid.UUID(int=1), "00000000-0000-0000-0000-000000000001"),
        (decimal.Decimal("1.50"), "1.50"),
        (Box(1), {"left": 1, "file": None}),
        (Page([Box(1), (2,)]), {"boxes": [{"left": 1, "file": None}, [2]]}),
        (Slotted(1), {"a": 1}),
        (Plain(), {"a": [1]}),
        (Secret("hunter2"), "**********"),
        ({"token": [Secret("hunter2")]}, {"token": ["**********"]}),
        ({1: 1, 2.5: 2, None: 3, False: 4}, {"1": 1, "2.5": 2, "null": 3, "false": 4}),
        ({Color.RED: 1, Level.LOW: 2}, {"red": 1, "1": 2}),
        ({uuid.UUID(int=1): 1}, {"00000000-0000-0000-0000-000000000001": 1}),
    ],
)  # fmt: skip
def test_values(value, wanted):
    found = encode(value)
    assert repr(found) == repr(wanted)
    json.dumps(found, allow_nan=False)


def test_subclasses_come_out_as_plain_types():
    found = encode([Number(3), Text("x"), {Text("k"): Number(1)}])
    assert [type(item) for item in found] == [int, str, dict]
    assert type(next(iter(found[2]))) is str


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (b"x", "output is of type bytes, which JSON cannot hold; write it to a file"),
        (bytearray(b"x"), "output is of type bytearray"),
        (memoryview(b"x"), "output is of type memoryview"),
        ([1, b"x"], "output[1] is of type bytes"),
        ({"items": [0, 0, 0, {"mask": b"x"}]}, "output.items[3].mask is of type bytes"),
        ({"a b": {"c": object()}}, "output['a b'].c is of type object"),
        (Page([Box(1j)]), "output.boxes[0].left is of type complex"),
        (math.nan, "output is nan, which JSON cannot hold"),
        ({"x": [1.0, math.inf]}, "output.x[1] is inf, which JSON cannot hold"),
        ((-math.inf,), "output[0] is -inf"),
        ({(1, 2): 3}, "output has the key (1, 2) of type tuple; the keys must be str"),
        ({"a": {math.nan: 3}}, "output.a has the key nan of type float"),
        (object, "output is the class object, not a value"),
        (Box, "output is the class Box, not a value"),
        (iter([1]), "output is of type list_iterator, which JSON cannot hold; make a list of it"),
        (datetime.timedelta(1), "output is of type datetime.timedelta"),
        (ValueError("x"), "output is of type ValueError"),
        (types.SimpleNamespace(a=1), "output is of type types.SimpleNamespace"),
        (lambda: 0, "output is of type function"),
    ],
)
def test_refusals(value, message):
    with pytest.raises(OutputError) as caught:
        encode(value)
    assert str(caught.value).startswith(message)


def test_place_begins_with_the_given_one():
    with pytest.raises(OutputError, match=r"^output\[3\]\.a is of type bytes"):
        encode({"a": b""}, place="output[3]")


def test_depth():
    nested = 1
    for _ in range(400):
        nested = (nested,)
    assert json.dumps(encode(nested)).count("[") == 400
    looping = []
    looping.append([looping])
    with pytest.raises(OutputError, match=r"contain itself|nested too deep"):
        encode(looping)
    looping = {}
    looping["self"] = looping
    with pytest.raises(OutputError, match=r"contain itself|nested too deep"):
        encode(looping)


def test_the_original_is_left_alone():
    value = {"a": [(1,)], "b": {"c": {2}}}
    encode(value)
    assert value == {"a": [(1,)], "b": {"c": {2}}}


class Dumping:
    """Tells its members as a model of pydantic 2 does; dict() is pydantic 1's."""

    def __init__(self, found):
        self.found = found

    def model_dump(self):
        return self.found

    def dict(self):
        raise AssertionError("model_dump comes first")


@dataclasses.dataclass
class Dicting:
    a: int = 1

    def dict(self):
        return {"mine": (self.a, Level.LOW)}


class Proxy:
    """Has every attribute that it is asked for, but no method."""

    def __getattr__(self, name):
        if name in ("get_secret_value", "__fspath__", "read", "dtype"):
            raise AttributeError(name)
        return dict


def test_members_of_an_object_like_a_pydantic_model():
    assert encode(Dumping({"x": (1,)})) == {"x": [1]}
    assert encode([Dumping("text"), Dumping(Dumping(None))]) == ["text", None]
    assert encode({"d": Dicting()}) == {"d": {"mine": [1, 1]}}
    with pytest.raises(OutputError, match=r"^output\.a is of type object"):
        encode(Dumping({"a": object()}))
    with pytest.raises(OutputError, match=r"is of type .*Proxy"):
        encode(Proxy())
    with pytest.raises(OutputError, match="is the class Dumping"):
        encode(Dumping)


def test_an_object_whose_members_never_end():
    endless = Dumping(None)
    endless.found = endless
    with pytest.raises(OutputError, match=r"^output\[0\] never becomes JSON data"):
        encode([endless])


def test_a_coder_comes_before_the_members_of_an_object():
    class Coded(Dumping):
        pass

    class CodedCoder(Coder):
        @staticmethod
        def factory(cls):
            return CodedCoder() if cls is Coded else None

        def encode(self, value):
            return {"coded": value.found}

        def decode(self, value):
            raise AssertionError

    Coder.register(CodedCoder)
    assert encode(Coded(1)) == {"coded": 1}


def test_coder():
    class Point:
        x = (3,)

    class PointCoder(Coder):
        @staticmethod
        def factory(tpe):
            return PointCoder() if tpe is Point else None

        def encode(self, x):
            return {"x": x.x}

    Coder.register(PointCoder)
    assert encode([Point()]) == [{"x": [3]}]


class TestTensors:
    """torch is too large to install for a test; this has its interface as far as it is used."""

    class Tensor:
        __module__ = "torch"

        def __init__(self, content, kind="float32"):
            self.content, self.dtype = content, f"torch.{kind}"

        def is_complex(self):
            return "complex" in self.dtype

        def is_floating_point(self):
            return "float" in self.dtype

        def element_size(self):
            return 1 if "8" in self.dtype else 4

        def detach(self):
            return self

        cpu = float = detach

        def isfinite(self):
            content = self.content if isinstance(self.content, list) else [self.content]
            return TestTensors.Tensor([math.isfinite(item) for item in content])

        def all(self):
            return all(self.content)

        def tolist(self):
            return self.content

    def test_values(self):
        assert encode({"x": self.Tensor([1.0, 2.0])}) == {"x": [1.0, 2.0]}
        assert encode(self.Tensor(3, "int64")) == 3
        assert encode(self.Tensor([1.0], "float8_e5m2")) == [1.0]

    def test_refusals(self):
        with pytest.raises(OutputError, match=r"output\[1\] is nan"):
            encode(self.Tensor([1.0, math.nan]))
        with pytest.raises(OutputError, match=r"tensor of torch\.complex64"):
            encode(self.Tensor([1.0], "complex64"))


def test_image_like_objects_get_a_hint():
    class Image:
        def save(self): ...

        def getbands(self): ...

    with pytest.raises(OutputError, match="save the image to a file"):
        encode(Image())
