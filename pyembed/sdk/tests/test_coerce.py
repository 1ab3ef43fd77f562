"""From JSON to the declared types."""

from __future__ import annotations

import json
import pathlib
import random

import pytest
from signatures import _COLOR, _LEVEL, _POINT_CODER, _TYPED

from cog import Path, Secret
from cog._worker.values.coerce import make_prepare
from cog.errors import InputError


@pytest.fixture
def prepare(run):
    """Return a function that gives what a function with these parameters is called with."""

    def prepare(parameters, values, before=""):
        signature = run(parameters, before=before).signature
        step = make_prepare(signature)
        found = dict(values) if step is None else step(dict(values))
        for field in signature.inputs:
            if field.native:  # the call itself sees to these
                found.setdefault(field.name, field.default)
        order = [field.name for field in signature.inputs if field.name in found]
        return {name: found[name] for name in order}

    return prepare


def same(found, wanted):
    """Compare types as well as values: 1, 1.0 and True are equal in Python."""
    assert repr(found) == repr(wanted)


@pytest.mark.parametrize(
    "parameters",
    [
        "",
        "a: str, b: bool, c: dict, d: list[str]",
        "a: str = 'x', b: bool = True, c: Optional[str] = None, d: Literal['a'] = 'a'",
        "a: Any, b: Union[int, float], c: list[Union[int, str]]",
        "a: Literal['x', 'y'], b: str = Input(choices=['q'])",
        "a: dict[str, list[bool]], b: Annotated[str, Opaque]",
    ],
)
def test_nothing_to_do(run, parameters):
    assert make_prepare(run(parameters).signature) is None


def test_a_default_of_another_type_is_handed_over_as_it_is(prepare):
    parameters = (
        "a: str = Input(default=True), b: int = Input(default=2.5), c: Path = Input(default=3), "
        "d: list[str] = Input(default='ab'), e: list[Path] = Input(default=[1]), "
        "f: File = Input(7), g: str = Input(default=1, choices=[1, 2])"
    )
    wanted = {"a": True, "b": 2.5, "c": 3, "d": "ab", "e": [1], "f": 7, "g": 1}
    same(prepare(parameters, {}), wanted)
    prepare(parameters, {})["e"].append(2)
    same(prepare(parameters, {}), wanted)
    same(prepare("b: int = Input(default='a')", {"b": 3.0}), {"b": 3})


def test_private_parameters_get_the_names_that_python_gave_them(model):
    source = "from cog import *\nclass Runner:\n"
    source += "    def run(self, __x: int, __y: str = Input('a')): ...\n"
    prepare = make_prepare(model(source).signature)
    same(prepare({"__x": 1.0}), {"_Runner__x": 1, "_Runner__y": "a"})


def test_numbers(prepare):
    same(prepare("a: float, b: int", {"a": 1, "b": 1.0}), {"a": 1.0, "b": 1})
    same(prepare("a: float, b: int", {"a": 1.5, "b": 2**80}), {"a": 1.5, "b": 2**80})
    same(prepare("a: Optional[float]", {"a": None}), {"a": None})
    same(prepare("a: Optional[float]", {"a": 2}), {"a": 2.0})
    same(prepare("a: list[float], b: list[int]", {"a": [1, 2.5], "b": [1.0]}), {"a": [1.0, 2.5], "b": [1]})
    same(prepare("a: dict[str, float]", {"a": {"x": 1}}), {"a": {"x": 1.0}})
    same(prepare("a: list[dict[str, list[float]]]", {"a": [{"x": [1]}]}), {"a": [{"x": [1.0]}]})
    same(prepare("a: list[Optional[float]]", {"a": [1, None]}), {"a": [1.0, None]})
    same(prepare("a: Literal[1, 2]", {"a": 1.0}), {"a": 1})
    same(prepare("a: float = Input(choices=[1, 2.5])", {"a": 1}), {"a": 1.0})
    same(prepare("a: bool, b: float", {"a": True, "b": 0}), {"a": True, "b": 0.0})


def test_lists_with_nothing_to_convert_stay_as_they_are(prepare, monkeypatch):
    """The worker looks in C whether there is something: here stands what that does."""
    asked = []

    def only(values, kind):
        asked.append(kind)
        return type(values) is list and all(type(v) is kind for v in values)

    monkeypatch.setattr("cog._worker.values.coerce._only", only)
    for values in ({"a": [1.5, 2.0], "b": [1, 2], "c": [[0.5], []]}, {"a": [], "b": [], "c": []}):
        found = prepare("a: list[float], b: list[int], c: list[list[float]]", values)
        assert all(found[name] is values[name] for name in "ab")
        same(found, values)
    assert asked.count(int) == 2
    same(
        prepare(
            "a: list[float], b: list[int], c: list[list[float]]", {"a": [1.5, 2], "b": [1, 2.0], "c": [[0.5], [1]]}
        ),
        {"a": [1.5, 2.0], "b": [1, 2], "c": [[0.5], [1.0]]},
    )
    same(prepare("a: Optional[list[float]]", {"a": None}), {"a": None})
    with pytest.raises(InputError, match='input "xs"'):
        prepare("xs: list[float]", {"xs": [1.5, 10**400]})


def test_unions_keep_the_json_type(prepare):
    values = {"a": 1, "b": 1.0, "c": [1]}
    same(prepare("a: Union[float, str], b: Union[int, str], c: Union[list[float], str]", values), values)


def test_too_large_for_a_float(prepare):
    with pytest.raises(InputError, match='input "b" is too large for a float'):
        prepare("a: float, b: float", {"a": 1, "b": 10**400})
    with pytest.raises(InputError, match='input "xs"'):
        prepare("xs: list[float]", {"xs": [1, 10**400]})


def test_defaults(prepare):
    same(prepare("a: str = Input('x'), b: int = Input(3), c: float = Input(1)", {}), {"a": "x", "b": 3, "c": 1.0})
    same(prepare("a: int = 2.0, b: float = 2", {}), {"a": 2, "b": 2.0})
    same(prepare("a: Optional[int], b: Optional[str] = Input()", {}), {"a": None, "b": None})
    same(prepare("a: Union[int, str, None] = None", {}), {"a": None})
    same(prepare("a: list[float] = [1]", {}), {"a": [1.0]})
    same(prepare("a: Optional[list[int]] = Input(default=[1])", {"a": None}), {"a": None})
    same(prepare("a: Union[int, str] = 3", {}), {"a": 3})
    same(prepare("a: float = float('inf')", {}), {"a": float("inf")})


def test_what_a_request_must_bring_is_left_to_the_call(prepare):
    same(prepare("a: float, b: int = Input(1)", {}), {"b": 1})
    same(prepare("p: Path, xs: list[float], s: str = Input()", {}), {})


def test_inputs_that_only_the_models_document_lets_be_absent_are_none(prepare):
    parameters = "d: int, a: int = Input(default=None, ge=0), b: float = Input(None), c: Path = Input(None)"
    same(prepare(parameters, {}), {"a": None, "b": None, "c": None})
    same(prepare(parameters, {"a": 1, "b": 2, "c": "/x", "d": 3}), {"d": 3, "a": 1, "b": 2.0, "c": Path("/x")})


@pytest.mark.parametrize("default", ["[]", "[1]", "{}", "{'a': [1]}", "[[1]]"])
def test_mutable_defaults_are_fresh_each_time(run, default):
    kind = "dict" if default.startswith("{") else "list"
    step = make_prepare(
        run(f"a: {kind}[str, Any] = {default}" if kind == "dict" else f"a: list[Any] = {default}").signature
    )
    first = step({})["a"]
    wanted = json.dumps(first)
    inner = first
    while isinstance(inner, (list, dict)):
        child = next(iter(inner.values() if isinstance(inner, dict) else inner), None)
        inner.update(new=1) if isinstance(inner, dict) else inner.append(9)
        inner = child
    assert json.dumps(step({})["a"]) == wanted


def test_files(prepare, tmp_path):
    name = str(tmp_path / "a.txt")
    (tmp_path / "a.txt").write_bytes(b"hi")
    found = prepare("a: Path, b: list[Path], c: Optional[Path], d: dict[str, Path]",
                    {"a": name, "b": [name], "c": None, "d": {"x": name}})  # fmt: skip
    same(found, {"a": Path(name), "b": [Path(name)], "c": None, "d": {"x": Path(name)}})
    found = prepare("a: pathlib.Path, b: os.PathLike", {"a": name, "b": name})
    assert type(found["a"]) is type(pathlib.Path())
    assert type(found["b"]) is Path
    found = prepare("a: File, b: list[File], c: Optional[File] = None", {"a": name, "b": [name]})
    assert found["a"].read() == found["b"][0].read() == b"hi"
    assert found["a"].name == name
    assert found["c"] is None


def test_file_defaults(prepare, run, tmp_path):
    file = tmp_path / "d.txt"
    file.write_text("hi")
    same(prepare(f"a: Path = {str(file)!r}, b: Path = Path('x')", {}), {"a": Path(file), "b": Path("x")})
    step = make_prepare(run(f"a: File = {str(file)!r}").signature)
    first, second = step({})["a"], step({})["a"]
    first.close()
    assert second.read() == b"hi"


def test_defaults_behind_urls(run):
    """The front fetches what a request brings; a default it never sees is fetched here."""
    signature = run("a: Path = 'data:text/plain;base64,aGk=', b: File = 'data:,x'").signature
    step = make_prepare(signature)
    first, second = step({}), step({})
    assert type(first["a"]) is Path
    assert first["a"] == second["a"]
    assert first["a"].read_bytes() == b"hi"
    assert first["b"].read() == second["b"].read() == b"x"
    first["a"].unlink()
    assert step({})["a"].read_bytes() == b"hi"
    step({})["a"].unlink()


def test_default_behind_a_url_that_cannot_be_fetched(run):
    step = make_prepare(run("a: int, b: Path = 'http://127.0.0.1:1/x.png'").signature)
    with pytest.raises(InputError, match=r'127.0.0.1:1/x.png for input "b": .*refused'):
        step({"a": 1})


def test_missing_file_is_an_os_error(prepare):
    with pytest.raises(FileNotFoundError):
        prepare("a: File", {"a": "/no/such"})


def test_secrets(prepare):
    found = prepare(
        "a: Secret, b: list[Secret], c: Optional[Secret], d: dict[str, Secret], "
        "e: Secret = 'e', f: list[Secret] = ['f'], g: Secret = Secret('g'), h: Secret = None",
        {"a": "1", "b": ["2"], "c": "3", "d": {"x": "4"}},
    )
    assert found == {
        "a": Secret("1"), "b": [Secret("2")], "c": Secret("3"), "d": {"x": Secret("4")},
        "e": Secret("e"), "f": [Secret("f")], "g": Secret("g"), "h": None,
    }  # fmt: skip


def test_enums(prepare):
    parameters = "c: Color = Color.RED, l: Level = 1, cs: list[Color] = ['blue'], o: Optional[Color] = None"
    red, blue = "<Color.RED: 'red'>", "<Color.BLUE: 'blue'>"
    low, high = "<Level.LOW: 1>", "<Level.HIGH: 2>"
    found = prepare(parameters, {}, _COLOR + _LEVEL)
    assert repr(found) == f"{{'c': {red}, 'l': {low}, 'cs': [{blue}], 'o': None}}"
    found = prepare(parameters, {"c": "blue", "l": 2.0, "cs": [], "o": "red"}, _COLOR + _LEVEL)
    assert repr(found) == f"{{'c': {blue}, 'l': {high}, 'cs': [], 'o': {red}}}"


def test_literal_of_enum_members(prepare):
    found = prepare("c: Literal[Color.RED]", {"c": "red"}, _COLOR)
    assert repr(found) == "{'c': <Color.RED: 'red'>}"


def test_typed_dict(prepare):
    same(
        prepare(
            "p: Place, ps: list[Place]", {"p": {"x": 1, "y": 2, "extra": 3}, "ps": [{"x": 1, "name": "n"}]}, _TYPED
        ),
        {"p": {"x": 1.0, "y": 2.0, "extra": 3}, "ps": [{"x": 1.0, "name": "n"}]},
    )


def test_coders(prepare):
    values = {"p": {"x": 1}, "ps": [{"x": 2}]}
    found = prepare("p: Point, ps: list[Point], d: Point = Point(3)", values, _POINT_CODER)
    assert (found["p"].x, found["ps"][0].x, found["d"].x) == (1, 2, 3)


def test_errors_of_a_coder_pass_through(prepare):
    with pytest.raises(KeyError, match="x"):
        prepare("p: Point", {"p": {}}, _POINT_CODER)


def test_order_and_unknown_keys_stay(run):
    step = make_prepare(run("a: float, b: float").signature)
    assert list(step({"b": 1, "zzz": 2, "a": 3})) == ["b", "zzz", "a"]


def test_against_a_plain_reference(run):
    """Random types and values, converted by the generated code and by an obvious function."""
    rng = random.Random(7)
    for _ in range(60):
        types = [random_type(rng, 3) for _ in range(4)]
        parameters = ", ".join(f"a{n}: {text}" for n, (text, _) in enumerate(types))
        step = make_prepare(run(parameters).signature) or (lambda values: values)
        for _ in range(20):
            values = {f"a{n}": random_value(rng, tree) for n, (_, tree) in enumerate(types)}
            wanted = {f"a{n}": convert(tree, values[f"a{n}"]) for n, (_, tree) in enumerate(types)}
            assert repr(step(json.loads(json.dumps(values)))) == repr(wanted)


def random_type(rng, depth):
    name = rng.choice(["int", "float", "str", "bool", "secret", "path"] + ["list", "dict", "optional"] * (depth > 0))
    if name in ("list", "dict", "optional"):
        text, tree = random_type(rng, depth - 1)
        form = {"list": "list[{}]", "dict": "dict[str, {}]", "optional": "Optional[{}]"}[name]
        return form.format(text), (name, tree)
    return {"secret": "Secret", "path": "Path"}.get(name, name), (name, None)


def random_value(rng, tree):
    name, inner = tree
    if name == "list":
        return [random_value(rng, inner) for _ in range(rng.randrange(4))]
    if name == "dict":
        return {rng.choice("abc"): random_value(rng, inner) for _ in range(rng.randrange(3))}
    if name == "optional":
        return None if rng.random() < 0.3 else random_value(rng, inner)
    if name == "int":
        return rng.choice([0, -1, 3.0, 2**70, 1e15])
    if name == "float":
        return rng.choice([0, 1, -2.5, 2**60, 0.1])
    if name == "bool":
        return rng.random() < 0.5
    return rng.choice(["", "a", "/x/y"])


def convert(tree, value):
    name, inner = tree
    if name == "list":
        return [convert(inner, item) for item in value]
    if name == "dict":
        return {key: convert(inner, item) for key, item in value.items()}
    if name == "optional":
        return None if value is None else convert(inner, value)
    return {"int": int, "float": float, "secret": Secret, "path": Path}.get(name, lambda v: v)(value)
