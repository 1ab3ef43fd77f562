"""Inputs that are numpy arrays."""

from __future__ import annotations

import sys
import typing

import pytest
import typing_extensions

from cog._worker.schema.annotations import Names, Reader
from cog._worker.schema.document import fragment
from cog._worker.schema.types import Array, Unsupported
from cog._worker.static.reader import read_predictor
from cog._worker.values import ndarrays
from cog._worker.values.coerce import make_prepare
from cog.errors import InputError, LoadError

np = pytest.importorskip("numpy")
npt = pytest.importorskip("numpy.typing")

IMPORTS = "import numpy as np\nfrom numpy.typing import NDArray"


def shaped(*lengths, dtype="Any"):
    shape = ", ".join(["int"] * lengths[0]) if lengths else "int, ..."
    return f"np.ndarray[tuple[{shape}], np.dtype[{dtype}]]"


def kind(text, is_input=True):
    names = {"np": np, "NDArray": npt.NDArray, "Unpack": typing_extensions.Unpack}
    typed = {name: getattr(typing, name) for name in ("Any", "Annotated", "Literal", "Union")}
    return Reader(Names({**typed, **names}), is_input=is_input).read(text)


@pytest.mark.parametrize(
    ("annotation", "dtype", "dimensions"),
    [
        ("np.ndarray", "", 0),
        ("NDArray", "", 0),
        ("NDArray[np.float32]", "float32", 0),
        ("NDArray[np.bool_]", "bool", 0),
        ("NDArray[np.intp]", "int64", 0),
        ("NDArray[np.floating]", "float64", 0),
        ("NDArray[np.number]", "", 0),
        ("np.ndarray[Any, np.dtype[np.uint8]]", "uint8", 0),
        (shaped(1, dtype="np.float16"), "float16", 1),
        (shaped(3, dtype="np.uint64"), "uint64", 3),
        (shaped(dtype="np.double"), "float64", 0),
        ("NDArray[np.floating[Any]]", "float64", 0),
        ("NDArray[np.integer[Any]]", "int64", 0),
        ("NDArray[float]", "float64", 0),
        ("NDArray[bool]", "bool", 0),
        ("'NDArray[np.float32]'", "float32", 0),
        ("NDArray['np.float32']", "float32", 0),
        ("np.ndarray['tuple[int, int]', 'np.dtype[np.int8]']", "int8", 2),
        ("np.ndarray[Any, Any]", "", 0),
        ("np.ndarray[tuple[int, Unpack[tuple[int, ...]]], np.dtype[np.int8]]", "int8", 0),
        ("np.ndarray[tuple[Literal[3], int], np.dtype[np.int8]]", "int8", 2),
        ("Annotated[NDArray[np.int8], 'pixels']", "int8", 0),
    ],
)
def test_annotations(annotation, dtype, dimensions):
    found = kind(annotation)
    assert isinstance(found, Array)
    assert (found.dtype, found.dimensions) == (dtype, dimensions)


@pytest.mark.parametrize("dtype", ["complex64", "str_", "object_", "datetime64", "longdouble"])
def test_types_that_json_has_not(dtype):
    with pytest.raises(Unsupported, match="cannot come from JSON"):
        kind(f"NDArray[np.{dtype}]")


@pytest.mark.parametrize(
    "annotation",
    [
        "NDArray[str]",
        "NDArray[Union[np.float32, np.float64]]",
        "np.ndarray[np.float32]",
        "np.ndarray[Any, np.float32]",
        "np.ndarray[Any, Union[np.dtype[np.int8], np.dtype[np.int16]]]",
    ],
)
def test_annotations_that_say_something_else(annotation):
    with pytest.raises(Unsupported):
        kind(annotation)


def test_aliases():
    """`NDArray` itself is one, from numpy 2.5 on."""
    scalar = typing.TypeVar("scalar", bound=np.generic)
    alias = typing_extensions.TypeAliasType("alias", np.ndarray[typing.Any, np.dtype[scalar]], type_params=(scalar,))
    plain = typing_extensions.TypeAliasType("plain", npt.NDArray[np.int8])
    names = Names({"alias": alias, "plain": plain, "np": np})
    found = [Reader(names, is_input=True).read(text) for text in ("alias[np.float32]", "plain")]
    assert [kind.dtype for kind in found] == ["float32", "int8"]
    assert Reader(names, is_input=True).read("alias").dtype == ""


def test_a_coder_of_the_model_comes_first(run):
    before = f"""
{IMPORTS}
from cog.coder import Coder

class Base64(Coder):
    @staticmethod
    def factory(cls):
        return Base64() if cls is np.ndarray else None

    def encode(self, value):
        return {{}}

    def decode(self, value):
        return np.array([len(value["b"])])

Coder.register(Base64)
"""
    predictor = run("x: NDArray[np.float32]", before=before)
    assert make_prepare(predictor.signature)({"x": {"b": "abc"}})["x"].tolist() == [3]


def test_no_union():
    with pytest.raises(Unsupported, match="is a union with"):
        kind("NDArray[np.float32] | str")


def test_schema():
    numbers = {"type": "array", "items": {"type": "number"}}
    whole = {"type": "array", "items": {"type": "integer"}}
    assert fragment(kind(shaped(1, dtype="np.float32"))) == {**numbers, "x-pinion-dtype": "float32"}
    two = {"type": "array", "items": whole, "x-pinion-dtype": "uint8"}
    assert fragment(kind(shaped(2, dtype="np.uint8"))) == two
    assert fragment(kind(shaped(1))) == {**numbers, "x-pinion-dtype": ""}
    assert fragment(kind(shaped(1, dtype="np.bool_")))["items"] == {"type": "boolean"}
    anything = {"type": "array", "items": {}, "x-pinion-dtype": "float32"}
    assert fragment(kind("NDArray[np.float32]")) == anything


@pytest.mark.parametrize(
    ("annotation", "dtype"), [("NDArray[np.int8]", "int8"), ("np.ndarray", ""), ("NDArray[np.str_]", "")]
)
def test_schema_of_an_output(annotation, dtype):
    array = {"type": "array", "items": {}, "x-pinion-dtype": dtype}
    assert fragment(kind(annotation, is_input=False)) == array
    assert fragment(kind(f"list[{annotation}]", is_input=False)) == {"type": "array", "items": array}


@pytest.mark.parametrize(
    ("annotation", "value", "wanted"),
    [
        ("NDArray[np.float32]", [1, 2.5], np.array([1, 2.5], "float32")),
        ("NDArray[np.float16]", [65504, -0.1], np.array([65504, -0.1], "float16")),
        ("NDArray[np.float64]", [[1], [10**400 // 10**399]], np.array([[1.0], [10.0]])),
        ("NDArray[np.uint8]", [[0, 255.0]], np.array([[0, 255]], "uint8")),
        ("NDArray[np.uint64]", [2**64 - 1], np.array([2**64 - 1], "uint64")),
        ("NDArray[np.int64]", [-(2**63)], np.array([-(2**63)], "int64")),
        ("NDArray[np.bool_]", [True, False], np.array([True, False])),
        ("np.ndarray", [1, 2], np.array([1, 2])),
        ("np.ndarray", [1, 2.0], np.array([1.0, 2.0])),
        ("np.ndarray", [[True]], np.array([[True]])),
        ("np.ndarray", [], np.array([], "float64")),
        ("NDArray[np.int32]", [[], []], np.zeros((2, 0), "int32")),
        (shaped(2), [[1, 2]], np.array([[1, 2]])),
    ],
)
def test_values(annotation, value, wanted):
    found = ndarrays.converter(kind(annotation))(value)
    assert (found.dtype, found.shape) == (wanted.dtype, wanted.shape)
    assert (found == wanted).all()
    found[...] = 0  # it is the model's own


def test_what_the_worker_read_is_wrapped():
    data = bytearray(np.arange(6, dtype="float32").tobytes())
    found = ndarrays.converter(kind("NDArray[np.float32]"))((data, (2, 3)))
    assert (found == np.arange(6, dtype="float32").reshape(2, 3)).all()
    found[0, 0] = 7
    assert np.frombuffer(data, "float32")[0] == 7
    empty = ndarrays.converter(kind(shaped(2, dtype="np.int8")))((bytearray(), (2, 0)))
    assert empty.shape == (2, 0)
    with pytest.raises(ndarrays.ArrayError, match="must have 1 dimension, got 2"):
        ndarrays.converter(kind(shaped(1, dtype="np.int8")))((bytearray(2), (2, 1)))


@pytest.mark.parametrize(
    ("annotation", "value", "message"),
    [
        ("NDArray[np.float32]", [1, "a"], "[1] must be a number, got 'a'"),
        ("NDArray[np.float32]", [[1], [None]], "[1][0] must be a number, got null"),
        ("NDArray[np.float32]", [1, [2]], "[1] must be a number, got a list"),
        ("NDArray[np.float32]", [[1], 2], "[1] must be a list, got 2"),
        ("NDArray[np.float32]", [[1], {}], "[1] must be a list, got an object"),
        ("NDArray[np.float32]", [[1, 2], [3]], "[1] must have 2 elements, got 1"),
        ("NDArray[np.float32]", [[[1]], [[1, 2]]], "[1][0] must have 1 element, got 2"),
        ("NDArray[np.float32]", [[0, 1e39]], "[0][1] is too large for float32"),
        ("NDArray[np.float16]", [-65520], "[0] is too large for float16"),
        ("NDArray[np.float64]", [0, 10**400], "[1] is too large for float64"),
        ("NDArray[np.float32]", [True], "[0] must be a number, got true"),
        ("NDArray[np.uint8]", [[1, 2], [3, 256]], "[1][1] must be in the range of uint8, got 256"),
        ("NDArray[np.uint8]", [-1], "[0] must be in the range of uint8, got -1"),
        ("NDArray[np.int64]", [2**63], "[0] must be in the range of int64, got 92233"),
        ("NDArray[np.int64]", [10**400], "the range of int64, got a number of many digits"),
        ("NDArray[np.int8]", [1.5], "[0] must be a whole number, got 1.5"),
        ("NDArray[np.bool_]", [0], "[0] must be true or false, got 0"),
        ("np.ndarray", [1, True], "[1] must be a number, got true"),
        ("np.ndarray", ["a" * 300], "must be a number, got 'aaa"),
        ("np.ndarray", "a", "must be a list"),
        (shaped(2), [1, 2], "must have 2 dimensions, got 1"),
        (shaped(1), [[1]], "must have 1 dimension, got 2"),
    ],
)
def test_errors(annotation, value, message):
    with pytest.raises(ndarrays.ArrayError) as raised:
        ndarrays.converter(kind(annotation))(value)
    assert message in str(raised.value)


def test_too_many_dimensions():
    value = 1
    for _ in range(33):
        value = [value]
    with pytest.raises(ndarrays.ArrayError, match="at most 32"):
        ndarrays.converter(kind("np.ndarray"))(value)


def test_errors_name_the_input(run):
    predictor = run(
        "a: NDArray[np.float32], b: list[NDArray[np.int8]], c: Optional[NDArray[np.int8]] = None", before=IMPORTS
    )
    prepare = make_prepare(predictor.signature)
    good = prepare({"a": [1], "b": [[1], [2, 3]]})
    assert good["a"].dtype == "float32"
    assert [b.tolist() for b in good["b"]] == [[1], [2, 3]]
    assert good.get("c") is None
    assert prepare({"a": [1], "b": [], "c": [4]})["c"].tolist() == [4]
    for bad, message in (
        ({"a": ["x"], "b": []}, "input \"a\": [0] must be a number, got 'x'"),
        ({"a": [1], "b": [[1], [300]]}, 'input "b": [1][0] must be in the range of int8, got 300'),
        ({"a": [1], "b": [[1], 2]}, 'input "b": [1] must be a list'),
        ({"a": [1], "b": [], "c": [[1], []]}, 'input "c": [1] must have 1 element, got 0'),
    ):
        with pytest.raises(InputError) as raised:
            prepare(bad)
        assert str(raised.value) == message


def test_errors_name_the_place(run):
    before = f"""
{IMPORTS}
from typing import TypedDict
from cog import Path

class Part(TypedDict):
    file: Path
    a: NDArray[np.float32]
"""
    prepare = make_prepare(run("t: Part, d: dict[str, NDArray[np.int8]] = {}", before=before).signature)
    for bad, message in (
        ({"t": {"file": "x", "a": [1, "b"]}}, "input \"t\": ['a'][1] must be a number, got 'b'"),
        ({"t": {"file": "x", "a": [1]}, "d": {"k": [1.5]}}, "input \"d\": ['k'][0] must be a whole number, got 1.5"),
    ):
        with pytest.raises(InputError) as raised:
            prepare(bad)
        assert message in str(raised.value)


def test_defaults(run):
    predictor = run(
        "a: NDArray[np.float32] = [1, 2], b: NDArray[np.int8] = Input(default=[[3]]), c: np.ndarray = []",
        before=IMPORTS,
    )
    prepare = make_prepare(predictor.signature)
    first, second = prepare({}), prepare({})
    assert first["a"].dtype == "float32"
    assert (first["a"].tolist(), first["b"].tolist(), first["c"].tolist()) == ([1, 2], [[3]], [])
    first["a"][0] = 9
    assert second["a"].tolist() == [1, 2]
    assert [field.required for field in predictor.signature.inputs] == [False] * 3


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ("a: NDArray[np.int8] = np.zeros(2)", "is an array; write its content as a list"),
        ("a: NDArray[np.int8] = (1, 2)", "is not of type"),
        ("a: NDArray[np.int8] = [300]", "[0] must be in the range of int8, got 300"),
        ("a: NDArray[np.complex64]", "complex64 cannot come from JSON"),
        ("a: NDArray[np.int8] = Input(choices=[1])", "choices cannot be given"),
    ],
)
def test_declarations_that_are_wrong(run, parameters, message):
    with pytest.raises(LoadError) as raised:
        run(parameters, before=IMPORTS)
    assert message in str(raised.value)


def test_batches(model):
    source = f"""
{IMPORTS}
from cog import batch

@batch(max_size=4)
def run(x: list[NDArray[np.float32]], y: {{}}) -> list[float]:
    return [0.0 for _ in x]
"""
    predictor = model(source.format("int = 1"), "predict.py:run")
    assert isinstance(predictor.signature.inputs[0].kind, Array)
    with pytest.raises(LoadError, match="an array cannot be a key"):
        model(source.format("NDArray[np.int8] = [1]"), "predict.py:run")


def test_the_source_alone_is_enough(tmp_path):
    """It gives the document that importing gives, without numpy."""
    declared = [
        ("a", "np.ndarray", ("", 0)),
        ("b", "NDArray[np.float32]", ("float32", 0)),
        ("c", "np.ndarray[tuple[int, int], np.dtype[np.uint8]]", ("uint8", 2)),
        ("d", "NDArray", ("", 0)),
        ("e", "NDArray[np.double]", ("float64", 0)),
        ("f", "NDArray[np.floating[Any]]", ("float64", 0)),
        ("g", "Optional[NDArray[np.int64]] = None", ("int64", 0)),
    ]
    parameters = ", ".join(f"{name}: {annotation}" for name, annotation, _ in declared)
    (tmp_path / "model.py").write_text(
        f"from typing import Any, Optional\n{IMPORTS}\ndef run({parameters}) -> str:\n    return ''\n"
    )
    numpy = sys.modules.pop("numpy")
    try:
        predictor = read_predictor("model.py:run", str(tmp_path), "predict")
    finally:
        sys.modules["numpy"] = numpy
    for field, (_, _, wanted) in zip(predictor.signature.inputs, declared, strict=True):
        found = getattr(field.kind, "inner", field.kind)
        assert (found.dtype, found.dimensions) == wanted
