"""The decorator `cog.batch`, and what one prediction of a batched function looks like."""

from __future__ import annotations

import textwrap

import pytest

import cog
from cog._batch import BATCH_ATTRIBUTE, BatchOptions
from cog._worker.batch.plan import read_plan
from cog.errors import LoadError


def mark(**options):
    def run(text: list[str]) -> list[str]:
        return text

    return getattr(cog.batch(**options)(run), BATCH_ATTRIBUTE)


class TestOptions:
    def test_defaults(self):
        options = mark(max_size=32)
        assert (options.max_size, options.max_wait_ms) == (32, None)
        assert (options.isolate, options.workers) == (True, 2)
        assert "max_size=32" in repr(options)

    def test_all(self):
        options = mark(max_size=1, max_wait_ms=0.5, isolate=False, workers=8)
        assert (options.max_size, options.max_wait_ms) == (1, 0.5)
        assert (options.isolate, options.workers) == (False, 8)
        assert mark(max_size=4096, max_wait_ms=0).max_wait_ms == 0

    @pytest.mark.parametrize(
        ("options", "error", "message"),
        [
            ({"max_size": 0}, ValueError, "max_size must be between 1 and 4096, not 0"),
            ({"max_size": 4097}, ValueError, "between 1 and 4096"),
            ({"max_size": 3.0}, TypeError, "max_size must be an int, not float"),
            ({"max_size": True}, TypeError, "max_size must be an int, not bool"),
            ({"max_size": 3, "max_wait_ms": -1}, ValueError, "must be 0 or more, not -1"),
            ({"max_size": 3, "max_wait_ms": float("nan")}, ValueError, "0 or more"),
            ({"max_size": 3, "max_wait_ms": float("inf")}, ValueError, "0 or more"),
            ({"max_size": 3, "max_wait_ms": "5"}, TypeError, "number or None, not str"),
            ({"max_size": 3, "max_wait_ms": True}, TypeError, "number or None, not bool"),
            ({"max_size": 3, "isolate": 1}, TypeError, "isolate must be a bool, not int"),
            ({"max_size": 3, "workers": 0}, ValueError, "workers must be between 1 and 64"),
            ({}, TypeError, "max_size"),
        ],
    )
    def test_refused(self, options, error, message):
        with pytest.raises(error, match=message):
            cog.batch(**options)

    def test_wants_its_parentheses(self):
        with pytest.raises(TypeError):
            cog.batch(lambda text: text)

    def test_leaves_the_function_as_it_is(self):
        def run(text: list[str]) -> list[str]:
            return [t.upper() for t in text]

        assert cog.batch(max_size=2)(run) is run
        assert run(["a"]) == ["A"]

    def test_wants_a_function_that_returns(self):
        def yields(text: list[str]):
            yield from text

        async def yields_later(text: list[str]):
            yield text

        for function in (yields, yields_later):
            with pytest.raises(TypeError, match="is a generator; a batched function must"):
                cog.batch(max_size=2)(function)
        with pytest.raises(TypeError, match="must decorate a function, not int"):
            cog.batch(max_size=2)(3)

    def test_is_a_function_whoever_came_first(self):
        """The decorator must not be hidden by a module of its name."""
        __import__("cog._batch")
        assert callable(cog.batch)
        assert "batch" in cog.__all__


@pytest.fixture
def plan(tmp_path):
    """Return the plan of the class Runner, or of run, in a source."""

    def read(source, future=""):
        text = future + "from cog import *\nfrom cog import batch\n" + textwrap.dedent(source)
        file = tmp_path / "model.py"
        file.write_text(text)
        names = {"__name__": "model"}
        exec(compile(text, str(file), "exec"), names)
        owner = names["Runner"]() if "Runner" in names else None
        function = owner.run if owner is not None else names["run"]
        return read_plan(
            function,
            BatchOptions(8),
            getattr(owner, "preprocess", None),
            getattr(owner, "postprocess", None),
            str(tmp_path) + "/",
        )

    return read


FUTURE = "from __future__ import annotations\n"

TEXTS = """
class Runner:
    @batch(max_size=8)
    def run(self, text: list[str] = Input(description="d", max_length=9), upper: bool = True
            ) -> list[list[float]]: ...
"""


def kinds(plan):
    return {field.name: field.kind.name for field in plan.signature.inputs}


class TestInputs:
    @pytest.mark.parametrize("future", ["", FUTURE])
    def test_lists_are_batched_and_the_rest_are_keys(self, plan, future):
        found = plan(TEXTS, future)
        assert (found.batched, found.keys) == (("text",), ("upper",))
        assert kinds(found) == {"text": "str", "upper": "bool"}
        assert found.signature.output.name == "list[float]"
        assert found.signature.name == "Runner.run"
        assert (found.preprocess, found.postprocess) == (None, None)

    def test_declarations_are_of_the_element(self, plan):
        text, upper = plan(TEXTS).signature.inputs
        assert (text.info.description, text.info.max_length) == ("d", 9)
        assert (text.required, text.native) == (True, False)
        assert (upper.required, upper.native, upper.default) == (False, True, True)

    def test_a_default_is_of_the_element_and_not_left_to_the_call(self, plan):
        for default in ("'x'", "Input(default='x')"):
            source = f"def run(a: list[str] = {default}) -> list[str]: ...\n"
            (field,) = plan(source).signature.inputs
            assert (field.default, field.required, field.native) == ("x", False, False)
        with pytest.raises(LoadError, match=r'model.py:3: parameter "a" of run: .*default'):
            plan("def run(a: list[str] = ['x']) -> list[str]: ...\n")

    def test_an_input_in_the_annotation_is_about_one_element(self, plan):
        source = (
            "from typing import Annotated\n"
            "def run(a: Annotated[list[str], Input(description='d', max_length=3)], "
            "b: list[Annotated[int, Input(ge=1)]] = 3, c: list[str] = ...) -> list[str]: ...\n"
        )
        a, b, c = plan(source).signature.inputs
        assert (a.info.description, a.info.max_length, a.required) == ("d", 3, True)
        assert (b.info.ge, b.default, b.native, b.required) == (1, 3, False, False)
        assert c.required

    def test_a_default_of_none_may_be_made_optional(self, plan):
        signature = plan("def run(a: list[int] = None, b: str = None) -> list[str]: ...\n").signature
        for field in signature.inputs:
            assert (field.required, field.none_default) == (True, True)
            field.allow_none()
            assert (field.required, field.has_default, field.default) == (False, True, None)

    def test_none_as_a_default(self, plan):
        (field,) = plan("def run(a: 'list[str | None]' = None) -> list[str]: ...\n").signature.inputs
        assert (field.required, field.has_default) == (False, True)

    def test_several_and_nested(self, plan):
        found = plan("def run(a: list[Path], b: list[list[int]], n: int) -> list[str]: ...\n")
        assert (found.batched, found.keys) == (("a", "b"), ("n",))
        assert kinds(found) == {"a": "Path", "b": "list[int]", "n": "int"}

    def test_sequences_and_typing_lists(self, plan):
        found = plan(
            "import typing, collections.abc\n"
            "def run(a: typing.List[str], b: collections.abc.Sequence[int])"
            " -> typing.List[str]: ...\n"
        )
        assert found.batched == ("a", "b")
        assert kinds(found) == {"a": "str", "b": "int"}

    def test_choices(self, plan):
        (field,) = plan("def run(a: list[str] = Input(choices=['x', 'y'])) -> list[str]: ...\n").signature.inputs
        assert field.choices is not None

    @pytest.mark.parametrize(
        ("source", "message"),
        [
            ("def run(a: str) -> list[str]: ...", "@batch requires a list parameter"),
            ("def run() -> list[str]: ...", "@batch requires a list parameter"),
            ("def run(a: list) -> list[str]: ...", '"a" of run: list has no element type'),
            ("def run(a: list[bytes]) -> list[str]: ...", "bytes is not supported; use cog.Path"),
            ("def run(a: list[str], b) -> list[str]: ...", 'parameter "b" of run: it has no type'),
            ("def run(a: 'list[Nope]') -> list[str]: ...", "Nope"),
            ("def run(*a: list[str]) -> list[str]: ...", "@batch requires a list parameter"),
            ("def run(a: list[str] = Input(ge='x')) -> list[str]: ...", "ge must be a number, got 'x'"),
        ],
    )
    def test_refused(self, plan, source, message):
        with pytest.raises(LoadError, match=message) as caught:
            plan(source + "\n")
        assert str(caught.value).startswith("model.py:3: ")


class TestOutput:
    @pytest.mark.parametrize(
        ("returns", "name"),
        [
            ("list[str]", "str"),
            ("tuple[int, ...]", "int"),
            ("'collections.abc.Sequence[Path]'", "Path"),
            ("list[dict[str, float]]", "dict[str, float]"),
            ("list", "anything"),
        ],
    )
    def test_is_the_element(self, plan, returns, name):
        found = plan(f"import collections.abc\ndef run(a: list[str]) -> {returns}: ...\n")
        assert found.signature.output.name == name

    def test_without_annotation(self, plan):
        assert plan("def run(a: list[str]): ...\n").signature.output.name == "anything"

    def test_array(self, plan):
        pytest.importorskip("numpy")
        found = plan("import numpy\ndef run(a: list[str]) -> numpy.ndarray: ...\n")
        assert found.signature.output.name == "anything"

    @pytest.mark.parametrize(
        ("returns", "message"),
        [
            ("str", r"str is a single result; .* as in `list\[str\]`"),
            ("tuple[int, str]", "is a single result"),
            ("dict[str, str]", "is a single result"),
            ("'list[str | None]'", "is optional"),
            ("'collections.abc.Iterator[str]'", "is a single result"),
        ],
    )
    def test_refused(self, plan, returns, message):
        with pytest.raises(LoadError, match=message):
            plan(f"import collections.abc\ndef run(a: list[str]) -> {returns}: ...\n")


class TestAround:
    def test_preprocess_has_the_inputs_and_postprocess_the_output(self, plan):
        found = plan("""
            class Runner:
                def preprocess(self, image: Path, size: int = 224) -> object: ...
                @batch(max_size=8)
                def run(self, items: list) -> list: ...
                def postprocess(self, output) -> str: ...
        """)
        assert kinds(found) == {"image": "Path", "size": "int"}
        assert (found.batched, found.keys) == (("items",), ())
        assert found.signature.output.name == "str"
        assert found.preprocess.__name__ == "preprocess"
        assert found.postprocess.__name__ == "postprocess"

    def test_preprocess_alone(self, plan):
        found = plan("""
            class Runner:
                def preprocess(self, a: int) -> int: ...
                @batch(max_size=8)
                def run(self, items): ...
        """)
        assert kinds(found) == {"a": "int"}
        assert found.signature.output.name == "anything"

    def test_postprocess_alone(self, plan):
        found = plan("""
            class Runner:
                @batch(max_size=8)
                def run(self, a: list[str], n: int = 1) -> list[object]: ...
                def postprocess(self, output: object, scale: float = 1.0) -> dict[str, int]: ...
        """)
        assert kinds(found) == {"a": "str", "n": "int"}
        assert found.signature.output.name == "dict[str, int]"

    @pytest.mark.parametrize(
        ("body", "message"),
        [
            ("async def preprocess(self, a: int): ...", "preprocess runs in a thread"),
            ("def preprocess(self, a: int): yield a", "preprocess runs in a thread"),
            ("async def postprocess(self, output): ...", "postprocess runs in a thread"),
            ("def preprocess(self, a): ...", 'parameter "a" of Runner.preprocess: it has no type'),
            ("def postprocess(self): ...", "it must take one parameter"),
            ("def postprocess(self, output, more): ...", "it must take one parameter"),
        ],
    )
    def test_refused(self, plan, body, message):
        with pytest.raises(LoadError, match=message):
            plan(f"""
                class Runner:
                    {body}
                    @batch(max_size=8)
                    def run(self, items: list[str]): ...
            """)

    def test_function_takes_the_list_only(self, plan):
        with pytest.raises(LoadError, match="it must take one parameter: the list of"):
            plan("""
                class Runner:
                    def preprocess(self, a: int): ...
                    @batch(max_size=8)
                    def run(self, items: list, n: int): ...
            """)


def test_streaming_is_refused(plan):
    for order in ("@batch(max_size=8)\n@streaming", "@streaming\n@batch(max_size=8)"):
        with pytest.raises(LoadError, match="@batch and @streaming cannot be combined"):
            plan(f"{order}\ndef run(a: list[str]) -> list[str]: ...\n")


def test_async_function(plan):
    found = plan("@batch(max_size=8)\nasync def run(a: list[str]) -> list[int]: ...\n")
    assert (found.batched, found.signature.output.name) == (("a",), "int")


def test_a_function_that_yields_is_refused_below_a_decorator_too(plan):
    with pytest.raises(LoadError, match="it is a generator; a function with @batch must"):
        plan("def run(a: list[str]) -> list[str]: yield a\n")
