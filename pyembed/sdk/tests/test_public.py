"""The names that models import."""

import copy
import dataclasses
import pickle
import typing

import pytest
from programs import python

import cog
from cog import (
    BaseModel,
    BasePredictor,
    BaseRunner,
    CancelationException,
    FieldInfo,
    Input,
    Secret,
    concurrent,
    streaming,
)


def test_version_is_that_of_the_interface():
    assert cog.__version__ == "0.23.1"


def test_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="no attribute 'Nope'"):
        cog.Nope
    with pytest.raises(ImportError):
        from cog import Nope  # noqa: F401


@pytest.mark.parametrize(
    "name", ["types", "predictor", "input", "model", "coder", "errors", "exceptions", "mode", "suppress_output"]
)
def test_submodules_are_attributes(name):
    assert getattr(cog, name).__name__ == f"cog.{name}"


def test_types_come_from_types_too():
    from cog import types

    for name in set(types.__all__) & set(cog.__all__):
        assert getattr(types, name) is getattr(cog, name)
    assert set(types.__all__) <= set(dir(types))
    with pytest.raises(AttributeError):
        types.Nope


class TestInput:
    def test_fields(self):
        info = Input(default=3, description="d", ge=1, le=5, deprecated=True, accept="image/*")
        assert (info.default, info.ge, info.le, info.deprecated) == (3, 1, 5, True)

    def test_positional_default(self):
        assert Input(5) == FieldInfo(default=5)

    def test_is_a_frozen_dataclass(self):
        assert dataclasses.is_dataclass(FieldInfo)
        names = [field.name for field in dataclasses.fields(Input())]
        assert names == list(FieldInfo.__match_args__)
        assert dataclasses.replace(Input(3), ge=1) == FieldInfo(default=3, ge=1)
        assert dataclasses.asdict(Input(3))["default"] == 3
        with pytest.raises(dataclasses.FrozenInstanceError):
            Input(3).default = 4
        with pytest.raises(dataclasses.FrozenInstanceError):
            del Input(3).default

    def test_none_given_differs_from_nothing_given(self):
        assert Input(default=None).has_default
        assert not Input().has_default
        assert Input(default=None) == Input()

    def test_survives_copy_and_pickle(self):
        for info in (Input(default=None, ge=1), Input(choices=["a"])):
            for other in (copy.deepcopy(info), pickle.loads(pickle.dumps(info))):
                assert other == info
                assert other.has_default == info.has_default

    def test_default_factory_is_refused(self):
        with pytest.raises(TypeError, match="default_factory"):
            Input(default_factory=list)

    def test_choices_may_be_any_iterable_but_a_string(self):
        assert Input(choices={"a": 1, "b": 2}.keys()).choices == ["a", "b"]
        assert Input(choices=range(2)).choices == [0, 1]
        with pytest.raises(TypeError, match="choices"):
            Input(choices="abc")

    def test_hash_and_repr(self):
        assert hash(Input(3)) == hash(Input(3))
        assert repr(Input(3)).startswith("FieldInfo(default=3, description=None, ge=None")
        assert Input(3) != 3


class TestSecret:
    def test_masks_itself(self):
        secret = Secret("hunter2")
        assert "hunter2" not in f"{secret} {secret!r} {[secret]} {secret:}"
        assert secret.get_secret_value() == "hunter2"

    def test_is_frozen_hashable_comparable(self):
        assert Secret("a") == Secret("a") != Secret("b")
        assert Secret("a") != "a"
        assert len({Secret("a"), Secret("a")}) == 1
        with pytest.raises(AttributeError):
            Secret("a").secret_value = "b"
        with pytest.raises(AttributeError):
            del Secret("a").secret_value

    def test_pickles(self):
        assert pickle.loads(pickle.dumps(Secret("a"))) == Secret("a")
        assert copy.deepcopy(Secret("a")) == Secret("a")

    def test_empty(self):
        assert Secret().get_secret_value() is None
        assert str(Secret()) == ""

    def test_is_a_dataclass(self):
        assert dataclasses.is_dataclass(Secret)
        assert [field.name for field in dataclasses.fields(Secret)] == ["secret_value"]
        assert dataclasses.asdict(Secret("a")) == vars(Secret("a")) == {"secret_value": "a"}
        assert dataclasses.replace(Secret("a"), secret_value="b") == Secret("b")
        assert typing.get_type_hints(Secret) == {"secret_value": typing.Optional[str]}

    def test_a_dataclass_can_derive_from_it(self):
        @dataclasses.dataclass(frozen=True)
        class Named(Secret):
            name: str = "?"

        named = Named("a", name="n")
        assert (named.get_secret_value(), named.name) == ("a", "n")
        assert dataclasses.asdict(copy.deepcopy(named)) == {"secret_value": "a", "name": "n"}
        assert named != Named("a", name="m")

    def test_a_plain_class_can_derive_from_it(self):
        class Noted(Secret):
            def __init__(self, text):
                super().__init__(text)
                self.note = "n"

        assert vars(Noted("a")) == {"secret_value": "a", "note": "n"}


class TestBaseModel:
    def test_subclasses_are_dataclasses(self):
        class Out(BaseModel):
            a: int
            b: str = "x"

        class More(Out):
            c: float = 1.0

        assert Out(1) == Out(a=1, b="x")
        assert repr(More(1, c=2.0)).endswith("More(a=1, b='x', c=2.0)")

    def test_opting_out(self):
        class Plain(BaseModel, auto_dataclass=False):
            a: int

        class Own(BaseModel, init=False):
            a: int

            def __init__(self):
                self.a = 3

        assert not dataclasses.is_dataclass(Plain)
        assert Own().a == 3

    def test_options_go_to_dataclass(self):
        class Frozen(BaseModel, frozen=True):
            a: int

        with pytest.raises(dataclasses.FrozenInstanceError):
            Frozen(1).a = 2

    def test_unknown_option_is_an_error(self):
        with pytest.raises(TypeError):

            class Wrong(BaseModel, nope=True):
                pass

    def test_explicit_dataclass(self):
        @dataclasses.dataclass
        class Out(BaseModel):
            a: int = 1

        assert Out().a == 1


class TestRunner:
    def test_run_and_predict_call_each_other(self):
        class Old(BasePredictor):
            def predict(self, x):
                return x

        class New(BaseRunner):
            def run(self, x):
                return x

        assert Old().run(1) == Old().predict(1) == New().run(1) == New().predict(1) == 1

    def test_neither(self):
        with pytest.raises(NotImplementedError, match="must define run"):
            BaseRunner().run()
        with pytest.raises(NotImplementedError, match="must define run"):
            BasePredictor().predict()

    def test_setup_does_nothing(self):
        assert BaseRunner().setup() is None
        assert BaseRunner().setup("weights") is None

    def test_scope_outside_of_predictions(self):
        runner = BaseRunner()
        runner.record_metric("not valid!", object(), "nonsense")
        assert runner.scope.context == {}


class TestDecorators:
    def test_streaming_with_and_without_parentheses(self):
        @streaming
        def one(): ...

        @streaming()
        def two(): ...

        assert one.__cog_streaming__
        assert two.__cog_streaming__

    def test_streaming_wants_a_function(self):
        with pytest.raises(TypeError, match="must decorate a function"):
            streaming(3)

    def test_concurrent(self):
        @concurrent(max=4)
        async def many(): ...

        @concurrent(max=3)
        async def items():
            yield 1

        @concurrent
        def one(): ...

        @concurrent()
        def also_one(): ...

        found = [f.__cog_concurrency__ for f in (many, items, one, also_one)]
        assert found == [4, 3, 1, 1]

    @pytest.mark.parametrize("bad", ["4", 2.0, None, True])
    def test_concurrent_wants_an_int(self, bad):
        with pytest.raises(TypeError, match="max must be an int"):
            concurrent(max=bad)

    @pytest.mark.parametrize("bad", [0, -1])
    def test_concurrent_wants_at_least_one(self, bad):
        with pytest.raises(ValueError, match="at least 1"):
            concurrent(max=bad)

    def test_concurrent_takes_any_function(self):
        @concurrent(max=2)
        def sync(): ...

        assert sync.__cog_concurrency__ == 2
        with pytest.raises(TypeError, match="must decorate a function"):
            concurrent(max=2)(3)


def test_cancelation_is_no_exception():
    assert issubclass(CancelationException, BaseException)
    assert not issubclass(CancelationException, Exception)
    assert cog.exceptions.CancelationException is CancelationException


def test_opaque():
    assert repr(cog.Opaque) == "cog.Opaque"
    assert pickle.loads(pickle.dumps(cog.Opaque)) is cog.Opaque


@pytest.mark.parametrize(
    "use",
    [
        "cog.emit_metric('a', 1); cog.emit_metric('a', 2)",
        "cog.ExperimentalFeatureWarning; cog.ExperimentalFeatureWarning",
        "from cog import ExperimentalFeatureWarning as W; assert issubclass(W, FutureWarning)",
    ],
)
def test_deprecated_names_say_so_once_and_work(use):
    done = python(f"import cog; {use}")
    assert len(done.stderr.splitlines()) == 1
    assert "is deprecated" in done.stderr


class TestCoder:
    def test_last_registered_is_asked_first(self):
        from cog.coder import Coder

        class Thing: ...

        class First(Coder):
            @staticmethod
            def factory(tpe):
                return First() if tpe is Thing else None

        class Second(Coder):
            @staticmethod
            def factory(tpe):
                return Second() if tpe is Thing else None

        Coder.register(First)
        Coder.register(Second)
        assert isinstance(Coder.lookup(Thing), Second)
        Coder.register(First)
        assert isinstance(Coder.lookup(Thing), First)
        assert Coder.lookup(int) is None
        with pytest.raises(NotImplementedError):
            First().encode(1)
        with pytest.raises(NotImplementedError):
            First().decode({})
