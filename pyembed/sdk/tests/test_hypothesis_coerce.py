"""Inputs of generated types, compared with a reference that follows the annotations step by step.

The reference asks typing at every value; what is tested has read the annotation once and has
generated code for it. The seed is fixed, so that a run can be repeated.
"""

from __future__ import annotations

import copy
import enum
import fractions
import os
import pathlib
import types
from collections.abc import Mapping, Sequence
from typing import (
    Annotated,
    Any,
    Dict,
    List,
    Literal,
    NewType,
    Optional,
    TypedDict,
    Union,
    get_args,
    get_origin,
    get_type_hints,
    is_typeddict,
)

import pytest

pytest.importorskip("hypothesis")
from hypothesis import given, settings
from hypothesis import strategies as st

from cog import Opaque, Path, Secret
from cog._worker.schema.signature import read_signature
from cog._worker.values.coerce import make_prepare
from cog.coder import Coder

examples = 200 if os.environ.get("PINION_TEST_FULL") else 100
repeatable = settings(derandomize=True, deadline=None, database=None, max_examples=examples)


class Color(enum.Enum):
    RED = "red"
    BLUE = "blue"


class Level(enum.IntEnum):
    LOW = 1
    HIGH = 10


class Point(TypedDict):
    x: float
    y: float


class Place(Point, total=False):
    name: str
    tags: List[int]
    file: Optional[Path]
    level: Level


UserId = NewType("UserId", int)


class FractionCoder(Coder):
    @staticmethod
    def factory(tpe):
        return FractionCoder() if tpe is fractions.Fraction else None

    def encode(self, x):
        return {"over": x.numerator, "under": x.denominator}

    def decode(self, x):
        return fractions.Fraction(x["over"], x["under"])


@pytest.fixture(scope="module", autouse=True)
def coder():
    Coder.register(FractionCoder)


# ---- the reference ----


def reference(annotation, value):
    """Return what a function that declares annotation gets for a JSON value."""
    if isinstance(annotation, NewType) or hasattr(annotation, "__supertype__"):
        return reference(annotation.__supertype__, value)
    origin, args = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        return value if Opaque in args[1:] else reference(args[0], value)
    if annotation is float:
        return float(value)
    if annotation is int:
        return int(value)
    if origin in (Union, types.UnionType):
        options = [arg for arg in args if arg is not type(None)]
        if value is None or len(options) > 1:
            return value
        return reference(options[0], value)
    if origin is Literal:
        ints = all(type(arg) is int for arg in args)
        return int(value) if ints else value
    if origin in (list, Sequence):
        return [reference(args[0], item) for item in value]
    if origin in (dict, Mapping):
        return {key: reference(args[1], item) for key, item in value.items()}
    if is_typeddict(annotation):
        hints = get_type_hints(annotation)
        return {key: reference(hints[key], item) if key in hints else item for key, item in value.items()}
    if annotation is fractions.Fraction:
        return fractions.Fraction(value["over"], value["under"])
    if isinstance(annotation, type) and issubclass(annotation, (enum.Enum, Secret, pathlib.Path)):
        return annotation(value)
    return value


def same(found, wanted):
    """Compare values and types, and the order of keys: 1, 1.0 and True are equal in Python."""
    if type(found) is not type(wanted):
        return False
    if isinstance(found, list):
        return len(found) == len(wanted) and all(map(same, found, wanted))
    if isinstance(found, dict):
        return list(found) == list(wanted) and all(map(same, found.values(), wanted.values()))
    if isinstance(found, Secret):
        return found.get_secret_value() == wanted.get_secret_value()
    return bool(found == wanted)


# ---- types, each with the JSON values that pass its validation ----

texts = st.text(max_size=5)
whole = st.integers(-(2**70), 2**70)
whole_floats = st.integers(-1000, 1000).map(float)
floats = st.floats(allow_nan=False, allow_infinity=False)
json_values = st.recursive(
    st.none() | st.booleans() | whole | floats | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=5,
)
objects = st.dictionaries(texts, json_values, max_size=3)

SIMPLE = [
    (str, texts),
    (int, whole | whole_floats),
    (float, floats | whole),
    (bool, st.booleans()),
    (UserId, whole | whole_floats),
    (Literal["a", "b"], st.sampled_from(["a", "b"])),
    (Literal[1, 2], st.sampled_from([1, 2, 1.0, 2.0])),
    (Literal["auto", 1, True], st.sampled_from(["auto", 1, True])),
]
FREE = [(Any, objects), (dict, objects), (Annotated[UserId, Opaque], objects)]
RICH = [
    (Color, st.sampled_from(["red", "blue"])),
    (Level, st.sampled_from([1, 10])),
    (Path, st.sampled_from(["/tmp/a.png", "b/ü.txt"])),
    (pathlib.Path, st.just("/tmp/x")),
    (Secret, texts),
    (fractions.Fraction, st.fixed_dictionaries({"over": st.integers(-9, 9), "under": st.integers(1, 9)})),
    (Point, st.fixed_dictionaries({"x": floats | whole, "y": floats | whole})),
    (
        Place,
        st.fixed_dictionaries(
            {"x": floats | whole, "y": floats | whole},
            optional={
                "name": texts,
                "tags": st.lists(whole | whole_floats, max_size=3),
                "file": st.none() | st.just("/tmp/a"),
                "level": st.sampled_from([1, 10]),
            },
        ),
    ),
]


def around(children):
    """Return types made of other types: lists, dicts, optional, annotated."""

    def list_of(pair):
        kind, values = pair
        items = st.lists(values, max_size=3)
        return st.sampled_from([(list[kind], items), (List[kind], items), (Sequence[kind], items)])

    def dict_of(pair):
        kind, values = pair
        items = st.dictionaries(texts, values, max_size=3)
        return st.sampled_from([(dict[str, kind], items), (Dict[str, kind], items), (Mapping[str, kind], items)])

    def optional(pair):
        return Optional[pair[0]], st.none() | pair[1]

    def annotated(pair):
        return Annotated[pair[0], "a note"], pair[1]

    return children.flatmap(list_of) | children.flatmap(dict_of) | children.map(optional) | children.map(annotated)


def union_of(pairs):
    values = st.one_of([pair[1] for pair in pairs])
    return Union[tuple(pair[0] for pair in pairs)], values


plain_types = st.recursive(st.sampled_from(SIMPLE), around, max_leaves=3)
unions = st.lists(plain_types, min_size=2, max_size=3).map(union_of).filter(
    lambda pair: len([a for a in get_args(pair[0]) if a is not type(None)]) > 1
    and get_origin(pair[0]) is Union
)  # fmt: skip
all_types = st.recursive(st.sampled_from(SIMPLE + FREE + RICH) | unions, around, max_leaves=4)


@st.composite
def parameters(draw):
    """Return some parameters: name, annotation, value or nothing, default or nothing."""
    found = []
    for position in range(draw(st.integers(1, 4))):
        kind, values = draw(all_types)
        given_value = draw(st.one_of(st.none(), values.map(lambda value: (value,))))
        default = draw(st.one_of(st.none(), values.map(lambda value: (value,))))
        if default is not None and default[0] is None and not _nullable(kind):
            default = None
        if given_value is None and default is None and not _may_be_left_out(kind):
            given_value = (draw(values),)
        found.append((f"p{position}", kind, given_value, default))
    return found


def _options(kind):
    """Return the types that a type stands for, through unions and notes."""
    if get_origin(kind) is Annotated and Opaque not in get_args(kind)[1:]:
        return _options(get_args(kind)[0])
    if get_origin(kind) is Union:
        return [option for arg in get_args(kind) for option in _options(arg)]
    return [kind]


def _nullable(kind):
    return type(None) in _options(kind)


def _may_be_left_out(kind):
    """Optional[T] may; a union of several types with None may not."""
    return _nullable(kind) and sum(option is not type(None) for option in _options(kind)) == 1


def function_of(drawn):
    """Return a function with these parameters that returns what it was called with."""
    listed = ", ".join(f"{name}=defaults[{name!r}]" if default is not None else name for name, _, _, default in drawn)
    names: dict[str, Any] = {"defaults": {n: copy.deepcopy(d[0]) for n, _, _, d in drawn if d is not None}}
    exec(f"def run(*, {listed}): return dict(locals())", names)
    run = names["run"]
    run.__annotations__ = {name: kind for name, kind, _, _ in drawn}
    return run


def spoil(value):
    """Change a value in place wherever that can be done, as a careless model does."""
    if isinstance(value, list):
        for item in value:
            spoil(item)
        value.append("spoiled")
    elif isinstance(value, dict):
        for item in value.values():
            spoil(item)
        value["spoiled"] = True


@repeatable
@given(parameters())
def test_inputs_are_as_the_reference_makes_them(drawn):
    run = function_of(drawn)
    prepare = make_prepare(read_signature(run))
    wanted, values = {}, {}
    for name, kind, value, default in drawn:
        if value is not None:
            values[name] = value[0]
            wanted[name] = reference(kind, value[0])
        elif default is not None:
            wanted[name] = reference(kind, default[0])
        else:
            wanted[name] = None  # an optional one without a default
    wanted = copy.deepcopy(wanted)
    for _ in range(2):  # the first call spoils what it was given
        inputs = copy.deepcopy(values)
        found = run(**(inputs if prepare is None else prepare(inputs)))
        for name, *_ in drawn:
            assert same(found[name], wanted[name]), (name, found[name], wanted[name])
        spoil(found)


@repeatable
@given(all_types, st.data())
def test_values_of_one_type_do_not_meet(pair, data):
    """Converting one value changes neither the JSON that it came from nor what came before."""
    kind, values = pair
    run = function_of([("p", kind, None, None)])
    prepare = make_prepare(read_signature(run))
    one, two = data.draw(values), data.draw(values)
    if one is None or two is None or prepare is None:
        return
    first = prepare({"p": copy.deepcopy(one)})["p"]
    before = copy.deepcopy(first)
    second = prepare({"p": copy.deepcopy(two)})["p"]
    assert same(first, before)
    assert same(second, reference(kind, two))
