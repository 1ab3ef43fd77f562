"""What a loaded model says about its functions."""

from __future__ import annotations

import pytest

from cog._worker.model.load import LoadError


class TestFlags:
    def flags(self, model, definition):
        predictor = model(f"from typing import *\nfrom cog import *\n{definition}\n")
        return predictor.is_async, predictor.is_generator, predictor.is_async_generator

    def test_kinds_of_functions(self, model):
        assert self.flags(model, "def run() -> str: ...") == (False, False, False)
        assert self.flags(model, "async def run() -> str: ...") == (True, False, False)
        assert self.flags(model, "def run() -> Iterator[int]: yield 1") == (False, True, False)
        assert self.flags(model, "async def run() -> AsyncIterator[int]: yield 1") == (True, False, True)

    def test_plain_functions_that_return_iterators(self, model):
        """A method that hands on a generator is as good as one that is a generator."""
        sync, asynchronous = (False, True, False), (True, False, True)
        assert self.flags(model, "def run() -> Iterator[int]: return iter([1])") == sync
        assert self.flags(model, "def run() -> ConcatenateIterator[str]: ...") == sync
        assert self.flags(model, "def run() -> AsyncIterator[int]: ...") == asynchronous
        assert self.flags(model, "def run() -> AsyncConcatenateIterator: ...") == asynchronous
        coroutine = self.flags(model, "async def run() -> AsyncIterator[int]: ...")
        assert coroutine == (True, False, False)

    def test_batch(self, model):
        source = (
            "import cog\n"
            "class Runner(cog.BaseRunner):\n"
            "    @cog.batch(max_size=4)\n"
            "    def run(self, text: list[str], up: bool = True) -> list[str]: return text\n"
        )
        predictor = model(source, "run.py")
        assert predictor.plan is not None
        assert predictor.plan.summary() == {
            "max_size": 4,
            "max_wait_ms": None,
            "isolate": True,
            "keys": ["up"],
            "prepare": False,
        }
        assert [field.kind.name for field in predictor.signature.inputs] == ["str", "bool"]
        assert predictor.signature.output.name == "str"
        assert not predictor.is_async
        more = "    def preprocess(self, n: int) -> str: return str(n)\n"
        around = model(source.replace(", up: bool = True", "") + more, "run.py")
        assert around.plan.summary()["prepare"] is True
        assert [field.name for field in around.signature.inputs] == ["n"]
        is_async = model(source.replace("def run", "async def run"), "run.py")
        assert is_async.is_async

    def test_batch_is_not_for_training(self, model):
        source = "import cog\n@cog.batch(max_size=4)\ndef train(text: list[str]) -> list[str]: return text\n"
        trainer = model(source, "train.py", "train")
        assert trainer.plan is None
        assert trainer.signature.output.name == "list[str]"

    def test_streaming_and_concurrent(self, model):
        predictor = model(
            "from typing import *\nfrom cog import *\n"
            "class Runner(BaseRunner):\n"
            "    @streaming\n    @concurrent(max=7)\n"
            "    async def run(self) -> AsyncIterator[int]: yield 1\n"
        )
        assert (predictor.streaming, predictor.concurrency) == (True, 7)
        plain = model("def run() -> int: ...\n")
        assert (plain.streaming, plain.concurrency) == (False, 1)

    def test_below_another_decorator(self, model):
        predictor = model(
            """
            import functools
            from typing import *
            from cog import *
            def logged(fn):
                @functools.wraps(fn)
                def wrapper(*args, **kwargs):
                    return fn(*args, **kwargs)
                return wrapper
            class Runner(BaseRunner):
                @logged
                @streaming
                def run(self, a: int, b: str = "x") -> Iterator[int]: yield a
            """
        )
        assert predictor.streaming
        assert [field.name for field in predictor.signature.inputs] == ["a", "b"]
        assert list(predictor.function(a=1)) == [1]

    @pytest.mark.parametrize("outer", ["", "@logged", "@timed(3)"])
    def test_below_decorators_without_wraps(self, model, outer):
        predictor = model(
            f"""
            from cog import *
            def helper(n: int): ...
            def logged(fn):
                def wrapper(*args, **kwargs):
                    helper(1)
                    return fn(*args, **kwargs)
                return wrapper
            def timed(limit):
                def decorate(fn):
                    def timer(self, **kwargs): return fn(self, **kwargs) * limit
                    return timer
                return decorate
            class Base(BaseRunner):
                {outer}
                @logged
                def run(self, a: int, b: str = "x") -> str: return b * a
            class Runner(Base): ...
            """
        )
        assert [field.name for field in predictor.signature.inputs] == ["a", "b"]
        assert predictor.function(a=1) in ("x", "xxx")

    def test_function_below_a_decorator_without_wraps(self, model):
        predictor = model(
            """
            def logged(fn):
                def wrapper(*args, **kwargs): return fn(*args, **kwargs)
                return wrapper
            @logged
            def run(a: int) -> str: return str(a)
            """
        )
        assert [field.name for field in predictor.signature.inputs] == ["a"]
        assert predictor.function(a=1) == "1"

    @pytest.mark.parametrize(
        ("definition", "passes"),
        [
            ("def run(**kwargs) -> str: return repr(kwargs)\n", True),
            ("def run(*args, **kwargs) -> str: return repr(kwargs)\n", True),
            ("def run(*args) -> str: return repr(args)\n", False),
            (
                """
                import functools
                def inner(**kwargs) -> str: return repr(kwargs)
                run = functools.partial(inner)
                """,
                True,
            ),
            (
                """
                def run(a: int) -> str: ...
                kept = run
                def run(*args, **kwargs): return repr(kwargs)
                """,
                True,
            ),
        ],
    )
    def test_variable_parameters_take_every_input(self, model, definition, passes):
        signature = model(definition).signature
        assert (signature.inputs, signature.open) == ([], passes)
        (warning,) = signature.warnings
        assert "takes *args or **kwargs" in warning
        assert "functools.wraps" in warning

    def test_named_parameters_beside_variable_ones_are_the_inputs(self, model):
        signature = model("def run(a: int, **kwargs) -> str: ...\n").signature
        assert [field.name for field in signature.inputs] == ["a"]
        assert (signature.open, signature.warnings) == (False, [])

    def test_decorator_that_wraps_itself_ends(self, model):
        with pytest.raises(LoadError, match="it has no type"):
            model("def run(a): ...\nrun.__wrapped__ = run\n")


class TestSetup:
    def setup_of(self, model, definition):
        return model(
            "import pathlib\nfrom typing import *\nfrom cog import *\n"
            f"class Runner(BaseRunner):\n    {definition}\n    def run(self) -> str: ...\n"
        )

    def test_none(self, model):
        predictor = self.setup_of(model, "pass")
        assert predictor.setup is None
        assert not predictor.setup_takes_weights

    def test_plain(self, model):
        predictor = self.setup_of(model, "def setup(self): self.x = 1")
        predictor.setup()
        assert predictor.instance.x == 1
        assert not predictor.setup_takes_weights

    @pytest.mark.parametrize(
        ("parameter", "kind"),
        [
            ("weights", "str"),
            ("weights=None", "str"),
            ("weights: str", "str"),
            ("weights: Path", "Path"),
            ("weights: Optional[Path] = None", "Path"),
            ("weights: Union[Path, str, None] = None", "Path"),
            ("weights: 'Path | None' = None", "Path"),
            ("*, weights: pathlib.Path = None", "PosixPath"),
            ("weights: 'Nope' = None", "str"),
            ("weights: Iterator = None", "str"),
        ],
    )
    def test_weights(self, model, parameter, kind):
        predictor = self.setup_of(model, f"def setup(self, {parameter}): ...")
        assert predictor.setup_takes_weights
        assert type(predictor.weights_argument("w")).__name__ == kind

    def test_weights_behind_a_url(self, model):
        predictor = self.setup_of(model, "def setup(self, weights: Path): ...")
        assert type(predictor.weights_argument("https://x.test/w")).__name__ == "URLPath"

    def test_async(self, model):
        assert self.setup_of(model, "async def setup(self): ...").setup_is_async
        assert not self.setup_of(model, "def setup(self): ...").setup_is_async

    def test_healthcheck(self, model):
        predictor = self.setup_of(model, "async def healthcheck(self): return True")
        assert predictor.healthcheck is not None
        assert predictor.healthcheck_is_async
        predictor = self.setup_of(model, "def healthcheck(self): return True")
        assert predictor.healthcheck()
        assert not predictor.healthcheck_is_async
