"""Finding and importing a model."""

from __future__ import annotations

import importlib
import pickle
import sys

import pytest
from programs import python

from cog._worker.model.load import LoadError, load_predictor

CLASS = """
from cog import BasePredictor, BaseRunner
class Predictor(BasePredictor):
    def predict(self, x: int) -> int:
        return x + 1
"""


def write(folder, files):
    for name, text in files.items():
        file = folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    return str(folder)


class TestReferences:
    def test_class(self, model):
        predictor = model(CLASS, "predict.py:Predictor")
        assert predictor.function(x=1) == 2
        assert type(predictor.instance).__name__ == "Predictor"
        assert repr(predictor) == "<Predictor Predictor.predict>"

    def test_runner_comes_before_predictor(self, model):
        source = CLASS + "class Runner(BaseRunner):\n    def run(self) -> str: return 'r'\n"
        assert model(source, "run.py").function() == "r"

    def test_predictor_without_a_name(self, model):
        assert model(CLASS).function(x=1) == 2

    def test_function(self, model):
        predictor = model("def run(a: str) -> str: return a * 2\n", "run.py:run")
        assert predictor.function(a="x") == "xx"
        assert (predictor.instance, predictor.setup, predictor.healthcheck) == (None, None, None)

    def test_training_function(self, model):
        trainer = model("def train(n: int) -> str: return str(n)\n", "train.py:train", "train")
        assert trainer.function(n=3) == "3"
        assert trainer.mode == "train"
        assert model("def train() -> str: ...\n", "train.py", "train").signature.name == "train"

    def test_training_class(self, model):
        source = "class Trainer:\n  def setup(self): ...\n  def train(self, n: int) -> int: return n\n"
        trainer = model(source, "train.py:Trainer", "train")
        assert trainer.function(n=3) == 3
        assert trainer.setup is not None

    def test_class_without_our_base(self, model):
        predictor = model("class Model:\n    def predict(self) -> int: return 3\n", "m.py:Model")
        assert predictor.function() == 3

    def test_callable_object(self, model):
        source = (
            "class Model:\n    def setup(self): ...\n    def __call__(self, a: int) -> int: return a\nrun = Model()\n"
        )
        predictor = model(source, "run.py:run")
        assert predictor.function(a=3) == 3
        assert predictor.setup is not None

    def test_partial(self, model):
        source = (
            "import functools\n"
            "def scaled(a: int, factor: int = 2) -> int: return a * factor\n"
            "run = functools.partial(scaled, factor=3)\n"
        )
        predictor = model(source, "run.py:run")
        assert [field.name for field in predictor.signature.inputs] == ["a", "factor"]
        assert predictor.function(a=2) == 6

    def test_static_and_class_methods(self, model):
        source = "class Model:\n    @{}\n    def run({}x: int) -> int: return x\n"
        for kind, first in (("staticmethod", ""), ("classmethod", "cls, ")):
            predictor = model(source.format(kind, first), "m.py:Model")
            assert [field.name for field in predictor.signature.inputs] == ["x"]
            assert predictor.function(x=3) == 3

    def test_inherited_and_mixed_in(self, model):
        source = CLASS + ("class Mixin:\n    def setup(self): self.ready = True\nclass Child(Mixin, Predictor): ...\n")
        predictor = model(source, "predict.py:Child")
        predictor.setup()
        assert predictor.instance.ready
        assert predictor.function(x=1) == 2

    def test_abstract_base(self, model):
        source = CLASS + "class Base(BaseRunner):\n    ...\nclass C(Base):\n    def run(self) -> int: ...\n"
        assert model(source, "predict.py:C").signature.name == "C.run"


class TestRefusals:
    @pytest.mark.parametrize(
        ("ref", "message"),
        [
            ("nope.py:Runner", "does not exist"),
            (":Runner", "invalid reference"),
            ("predict.py:Nope", 'predict.py has no "Nope"; it defines Predictor'),
            ("predict.py:value", "value must be a class or function, not int"),
            ("both.py:Both", "Both must define either run() or predict(), not both"),
            ("both.py:Child", "Child must define either run() or predict(), not both"),
            ("both.py:Neither", "Neither must define run() (or predict(), its older name)"),
            ("both.py", "both.py has neither Runner nor Predictor"),
            ("empty.py", "it defines no class or function"),
        ],
    )
    def test_messages(self, tmp_path, ref, message):
        both = (
            "from cog import BasePredictor, BaseRunner\n"
            "class Both(BasePredictor):\n    def run(self): ...\n    def predict(self): ...\n"
            "class Half(BaseRunner):\n    def run(self): ...\n"
            "class Child(Half):\n    def predict(self): ...\n"
            "class Neither(BasePredictor):\n    def setup(self): ...\n"
        )
        files = {"predict.py": CLASS + "value = 3\n", "both.py": both, "empty.py": ""}
        with pytest.raises(LoadError) as caught:
            load_predictor(ref, write(tmp_path, files))
        assert message in str(caught.value)
        assert isinstance(caught.value, ValueError)

    def test_errors_of_the_model_pass_through(self, model):
        with pytest.raises(ZeroDivisionError):
            model("1 / 0\n")
        with pytest.raises(ModuleNotFoundError, match="no_such_module"):
            model("import no_such_module\n")
        with pytest.raises(SyntaxError):
            model("def\n")
        with pytest.raises(RuntimeError, match="no GPU"):
            model("class Runner:\n  def __init__(self): raise RuntimeError('no GPU')\n  def run(self): ...\n")


class TestModules:
    def test_module_has_its_plain_name(self, tmp_path):
        predictor = load_predictor("predict.py", write(tmp_path, {"predict.py": CLASS}))
        assert type(predictor.instance).__module__ == "predict"
        assert str(tmp_path) in sys.path
        assert type(pickle.loads(pickle.dumps(predictor.instance))) is type(predictor.instance)

    def test_siblings_can_be_imported(self, tmp_path):
        files = {
            "predict.py": "from helper_of_test import F\ndef run() -> int: return F\n",
            "helper_of_test.py": "F = 7\n",
        }
        assert load_predictor("predict.py", write(tmp_path, files)).function() == 7

    def test_folder_is_a_package(self, tmp_path):
        files = {
            "src/__init__.py": "",
            "src/predict.py": "from .parts import N\nfrom top_of_test import M\n"
            "class Runner:\n  def run(self) -> int: return N + M\n",
            "src/parts.py": "N = 3\n",
            "top_of_test.py": "M = 4\n",
        }
        predictor = load_predictor("src/predict.py", write(tmp_path, files))
        assert predictor.function() == 7
        assert type(predictor.instance).__module__ == "src.predict"

    def test_file_of_a_package_goes_by_its_own_name_as_well(self, tmp_path):
        files = {"src/named_of_test.py": "class Thing: ...\ndef run() -> int: return 1\n"}
        load_predictor("src/named_of_test.py", write(tmp_path, files))
        thing = pickle.loads(b"cnamed_of_test\nThing\n.")
        assert thing is pickle.loads(b"csrc.named_of_test\nThing\n.")

    def test_file_of_a_package_takes_no_others_name(self, tmp_path):
        files = {"lib/json.py": CLASS, "lib/tomllib.py": CLASS, "tomllib.py": ""}
        root = write(tmp_path, files)
        import json

        load_predictor("lib/json.py", root)
        load_predictor("lib/tomllib.py", root)
        assert sys.modules["json"] is json
        assert not hasattr(importlib.import_module("tomllib"), "Predictor")

    def test_folder_without_init(self, tmp_path):
        files = {"a/b/predict.py": CLASS}
        predictor = load_predictor("a/b/predict.py", write(tmp_path, files))
        assert type(predictor.instance).__module__ == "a.b.predict"

    def test_folder_that_is_no_identifier(self, tmp_path):
        files = {"my-model/predict.py": "from parts_of_test import N\n" + CLASS, "my-model/parts_of_test.py": "N = 1"}
        predictor = load_predictor("my-model/predict.py", write(tmp_path, files))
        assert type(predictor.instance).__module__ == "predict"

    def test_folder_named_as_an_installed_package(self, tmp_path):
        files = {"pytest/predict.py": CLASS}
        predictor = load_predictor("pytest/predict.py", write(tmp_path, files))
        assert type(predictor.instance).__module__ == "predict"
        assert sys.modules["pytest"] is pytest

    def test_file_that_is_no_identifier(self, tmp_path):
        predictor = load_predictor("my-model.py:Predictor", write(tmp_path, {"my-model.py": CLASS}))
        assert predictor.function(x=1) == 2

    def test_name_of_a_standard_module_that_is_loaded(self, tmp_path):
        import textwrap

        try:
            predictor = load_predictor("textwrap.py:Predictor", write(tmp_path, {"textwrap.py": CLASS}))
            assert predictor.function(x=1) == 2
            assert sys.modules["textwrap"].__file__ == str(tmp_path / "textwrap.py")
        finally:
            sys.modules["textwrap"] = textwrap

    def test_name_of_a_standard_module_that_is_not_loaded(self, tmp_path):
        assert "this" not in sys.modules
        predictor = load_predictor("this.py:Predictor", write(tmp_path, {"this.py": CLASS}))
        assert predictor.function(x=1) == 2

    def test_failed_import_leaves_the_other_module(self, tmp_path):
        import textwrap

        with pytest.raises(ZeroDivisionError):
            load_predictor("textwrap.py", write(tmp_path, {"textwrap.py": "1 / 0"}))
        assert sys.modules["textwrap"] is textwrap

    def test_file_outside_of_the_root(self, tmp_path):
        write(tmp_path, {"model/a.txt": "", "other/predict_of_test.py": CLASS})
        predictor = load_predictor("../other/predict_of_test.py", str(tmp_path / "model"))
        assert predictor.function(x=1) == 2

    @pytest.mark.parametrize("method", ["spawn", "fork"])
    def test_multiprocessing_finds_the_module(self, tmp_path, method):
        source = (
            "import multiprocessing\n"
            "from cog import BaseRunner\n"
            "def double(x): return 2 * x\n"
            "class Runner(BaseRunner):\n"
            "    def run(self, n: int) -> int:\n"
            f"        with multiprocessing.get_context({method!r}).Pool(1) as pool:\n"
            "            return sum(pool.map(double, range(n)))\n"
        )
        write(tmp_path, {"predict.py": source})
        script = (
            "import sys; sys.path.remove(''); from cog._worker.model.load import load_predictor; "
            f"p = load_predictor('predict.py', {str(tmp_path)!r}); print(p.function(n=4))"
        )
        assert python(script, cwd=tmp_path).stdout == "12\n"
