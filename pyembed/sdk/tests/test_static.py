"""The static reading against the import: the same document, or a refusal with its reason."""

from __future__ import annotations

import re
import sys
import textwrap
from pathlib import Path as FilePath

import pytest
from programs import ask
from signatures import CASES, DOUBTS, PYDANTIC, REFUSALS
from sources import function_source

from cog._worker.model.load import LoadError
from cog._worker.model.notices import notices
from cog._worker.schema.document import openapi
from cog._worker.static.reader import Refusal, read_predictor

REPOSITORY = FilePath(__file__).resolve().parents[3]


@pytest.fixture
def agree(model, tmp_path):
    """Return a function that checks that both ways give one document, and returns it."""

    def check(source: str, ref: str = "predict.py", mode: str = "predict"):
        imported = openapi(model(source, ref, mode))
        assert openapi(read_predictor(ref, str(tmp_path), mode)) == imported
        return imported

    return check


# A coder of the model says what its types are, so it would have to be run.
READ = [name for name in CASES if name != "coder"]


@pytest.mark.parametrize("name", [*READ, *PYDANTIC])
def test_signatures(agree, name):
    if name in PYDANTIC:
        pytest.importorskip("pydantic")
    agree(function_source(*{**CASES, **PYDANTIC}[name]))


def test_coders_of_the_model_are_not_run(tmp_path):
    (tmp_path / "predict.py").write_text(function_source(*CASES["coder"]))
    with pytest.raises(Refusal, match=r"predict\.py:14: the coder PointCoder: it is not run"):
        read_predictor("predict.py", str(tmp_path))


@pytest.mark.parametrize("name", READ)
def test_postponed_annotations(agree, name):
    agree("from __future__ import annotations\n" + function_source(*CASES[name]))


@pytest.mark.parametrize("name", READ)
def test_methods(agree, name):
    parameters, returns, before = CASES[name]
    agree(
        function_source("", "None", before)
        + f"\nclass Runner(BaseRunner):\n    def run(self, {parameters}) -> {returns}: ...\n"
    )


@pytest.mark.parametrize("name", REFUSALS)
def test_faults_are_alike(model, tmp_path, name):
    parameters, _ = REFUSALS[name]
    source = function_source(*parameters)
    with pytest.raises(LoadError) as imported:
        model(source)
    with pytest.raises(LoadError) as static:
        read_predictor("predict.py", str(tmp_path))
    assert str(static.value) == str(imported.value)


@pytest.mark.parametrize("name", DOUBTS)
def test_doubts_are_alike(model, tmp_path, name):
    parameters, _ = DOUBTS[name]
    imported = model(function_source(*parameters))
    static = read_predictor("predict.py", str(tmp_path))
    assert notices(static, str(tmp_path)) == notices(imported, str(tmp_path)) != []
    assert openapi(static) == openapi(imported)


HEAVY = """\
import logging, os, subprocess, time
from typing import List, Optional
import heavy_one
import numpy as np
import torch
from heavy_two.images import Image
from heavy_two import SchedulerA, SchedulerB, hub
from cog import BaseModel, BasePredictor, Input, Path
from helpers.sizes import SIZES, DEFAULT
from helpers import names
try:
    import optional_one
    HAS = True
except ImportError:
    HAS = False

logger = logging.getLogger(__name__)
os.environ["HF_HOME"] = "/cache"
torch.backends.cuda.matmul.allow_tf32 = True
DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
class OwnScheduler:
    def from_config(config): return SchedulerA.from_config(config)
SCHEDULERS = {"A": SchedulerA, "B": SchedulerB, "OWN": OwnScheduler}
MODELS = [f"m{n}" for n in range(3)]
UNSURE = ["x"]
for item in hub.models():
    UNSURE.append(item)
if not os.path.exists("weights"):
    subprocess.check_call(["false"])
class Net(torch.nn.Module):
    pass

class Output(BaseModel):
    images: List[Path]
    vector: np.ndarray
    seed: Optional[int]

class Base(BasePredictor):
    def setup(self, weights: Optional[Path] = None, device: torch.device = torch.device("cuda")):
        self.pipe = hub.load("x")

class Predictor(Base):
    def __init__(self):
        self.net = Net()

    @torch.inference_mode()
    def predict(
        self,
        prompt: str = Input(description="What to draw"),
        scheduler: str = Input(default="A", choices=SCHEDULERS.keys()),
        model: str = Input(default=MODELS[0], choices=MODELS),
        width: int = Input(choices=SIZES, default=DEFAULT),
        name: str = Input(choices=list(names.NAMES), default="a"),
        strength: float = Input(default=0.8, ge=0, le=1),
    ) -> Output:
        ...
"""
HELPERS = {
    "helpers/__init__.py": "",
    "helpers/sizes.py": "SIZES = [128 * n for n in range(1, 5)]\nDEFAULT = max(SIZES)\n",
    "helpers/names.py": "import torch\nfrom . import sizes\nNAMES = {'a': torch.a, 'b': sizes}\n",
}
STUBS = {
    "heavy_one.py": "",
    "heavy_two/__init__.py": "class SchedulerA: ...\nclass SchedulerB: ...\n",
    "heavy_two/images.py": "class Image: ...\n",
    "heavy_two/hub.py": "def models(): return ['y']\n",
    "optional_one.py": "",
    "torch/__init__.py": textwrap.dedent(
        """
        class Anything:
            def __getattr__(self, name): return Anything()
            def __call__(self, *a): return a[0] if a and callable(a[0]) else self
            def __bool__(self): return False
        backends = cuda = a = Anything()
        device = inference_mode = foo = Anything()
        class Tensor: ...
        class nn:
            class Module: ...
        """
    ),
    "numpy/__init__.py": "class ndarray: ...\n",
}


@pytest.fixture
def heavy(tmp_path):
    """Return a function that writes the model above, changed, and reads it."""

    def read(old: str = "", new: str = "", stubs: bool = False):
        for name, text in {**HELPERS, **(STUBS if stubs else {})}.items():
            (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / name).write_text(text)
        assert old in HEAVY
        (tmp_path / "predict.py").write_text(HEAVY.replace(old, new) if old else HEAVY)
        return read_predictor("predict.py", str(tmp_path))

    return read


def test_without_what_it_imports(heavy):
    document = openapi(heavy())["components"]["schemas"]
    assert document["scheduler"]["enum"] == ["A", "B", "OWN"]
    assert document["model"]["enum"] == ["m0", "m1", "m2"]
    assert document["width"]["enum"] == [128, 256, 384, 512]
    assert document["name"]["enum"] == ["a", "b"]
    assert document["Output"]["properties"]["vector"]["type"] == "array"


def test_without_what_it_imports_is_what_an_import_gives(heavy, tmp_path):
    """With the imports there, as files of the model's own, an import gives the same document."""
    static = openapi(heavy())
    source = "import subprocess\nsubprocess.check_call = lambda *a: 0\n" + HEAVY
    for name, text in {**HELPERS, **STUBS}.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    (tmp_path / "whole.py").write_text(source)
    assert static == _imported(tmp_path, "whole.py")


def _imported(folder: FilePath, ref: str):
    answer = ask(folder, ref, "import")
    assert not answer["problems"], answer
    return answer["document"]


@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        ("default=0.8", "default=torch.x", "predict.py:54: torch.x: torch is not imported"),
        ("prompt: str", "prompt: Image", "predict.py:49: heavy_two.images.Image: heavy_two is not"),
        ('default="A"', "default=DEVICE", r"predict.py:50: DEVICE: predict.py:20: torch.cuda.is_"),
        ("default=0.8", "default=HAS", "it depends on whether the `try` fails"),
        ("Predictor(Base)", "Predictor(Base, Net)", "predict.py:4[23]: Net: predict.py:30: torch"),
        ("@torch.inference_mode()", "@torch.foo()", r"predict.py:(46|47): torch.foo\(…\): "),
        ("choices=MODELS", "choices=UNSURE", "UNSURE: it is changed by code that is not run"),
        ("self.net = Net()", "self.predict = Net()", r"__init__ sets predict, and is not run"),
        ("-> Output", "-> Missing", "name 'Missing' is not defined"),
    ],
)  # fmt: skip
def test_refusals(heavy, old, new, reason):
    """Cases in which the source alone is not enough; the reason says where and why.

    From Python 3.14 on a missing name of an annotation is the model's fault, as a quoted one is.
    """
    late = new == "-> Missing" and sys.version_info >= (3, 14)
    with pytest.raises(LoadError if late else Refusal) as caught:
        heavy(old, new)
    assert re.search(reason, str(caught.value)), str(caught.value)


BATCHED = """
    import torch
    from cog import BaseRunner, Path, batch

    class Runner(BaseRunner):
        def __init__(self):
            self.model = torch.load("x")
        def preprocess(self, image: Path, size: int = 224) -> object:
            return torch.read(image)
        @batch(max_size=32)
        def run(self, items: list) -> torch.Tensor:
            return self.model(items)
        def postprocess(self, output: torch.Tensor) -> str:
            return str(output)
"""


def test_batches(tmp_path):
    """A batched model is read like any other, with what stands around its function."""

    def read(text):
        (tmp_path / "predict.py").write_text(textwrap.dedent(text))
        return read_predictor("predict.py", str(tmp_path))

    predictor = read(BATCHED)
    assert predictor.plan is not None
    assert [field.name for field in predictor.signature.inputs] == ["image", "size"]
    assert predictor.signature.output.name == "str"
    with pytest.raises(Refusal, match=r"__init__ sets preprocess, and is not run"):
        read(BATCHED.replace("self.model =", "self.preprocess ="))
    with pytest.raises(Refusal, match=r"predict\.py:8: torch\.size: torch is not imported"):
        read(BATCHED.replace("= 224", "= torch.size"))
    with pytest.raises(Refusal, match=r"torch\.foo"):
        read(BATCHED.replace("    def postprocess", "    @torch.foo()\n        def postprocess"))


def test_foreign_star_hides_what_is_missing(heavy):
    with pytest.raises(Refusal, match=r"from heavy_one import \*: the names in heavy_one are"):
        heavy("class Predictor(Base)", "from heavy_one import *\nclass Other(Base)")


def test_own_faults_are_refused_with_the_exception(model, tmp_path):
    (tmp_path / "predict.py").write_text("SIZE = 1 / 0\ndef run(n: int = SIZE) -> int: ...\n")
    with pytest.raises(Refusal, match=r"SIZE: predict.py:1: ZeroDivisionError: division by zero"):
        read_predictor("predict.py", str(tmp_path))


def test_a_missing_file_and_a_broken_one(tmp_path):
    with pytest.raises(LoadError, match="does not exist"):
        read_predictor("predict.py", str(tmp_path))
    (tmp_path / "predict.py").write_text("def run(:\n")
    with pytest.raises(Refusal, match=r"predict.py:1: SyntaxError"):
        read_predictor("predict.py", str(tmp_path))


# Of the repository's models: those whose source is not enough, and why.
REFUSED = {"tests/models/syntax.py": "SyntaxError"}


def _models() -> dict[str, tuple[FilePath, str]]:
    """Return the repository's models by file: their folder and their reference."""
    found = {}
    for place in ("tests/models", "tests/models/worker_faults", "examples"):
        for settings in (REPOSITORY / place).rglob("cog.yaml"):
            named = re.search(r"^(?:run|predict):\s*[\"']?([^\"'\s#]+)", settings.read_text(), re.M)
            if named:
                file = settings.parent / named[1].partition(":")[0]
                found[str(file.relative_to(REPOSITORY))] = settings.parent, named[1]
        for file in (REPOSITORY / place).glob("*.py"):
            if re.search(_DEFINES, file.read_text(), re.M):
                found[str(file.relative_to(REPOSITORY))] = file.parent, file.name
    return dict(sorted(found.items()))


_DEFINES = r"^(class (Runner|Predictor)\b|(async )?def (run|predict)\b)"
MODELS = _models()


@pytest.mark.parametrize("name", MODELS)
def test_models_of_the_repository(name):
    folder, ref = MODELS[name]
    if name in REFUSED:
        with pytest.raises(Refusal, match=REFUSED[name]):
            read_predictor(ref, str(folder))
        return
    static = openapi(read_predictor(ref, str(folder)))
    answer = ask(folder, ref, "import")
    missing = [p["what"] for p in answer["problems"] if p["what"].startswith("ModuleNotFound")]
    if missing:
        pytest.skip(f"{missing[0]}: the static reading alone was tested")
    assert answer["problems"] == []
    assert static == answer["document"]


def test_a_module_that_exits(tmp_path):
    (tmp_path / "run.py").write_text("def run() -> int: ...\nraise SystemExit(3)\n")
    assert read_predictor("run.py", str(tmp_path)).signature.inputs == []


def test_packages_and_bases(agree, tmp_path):
    (tmp_path / "lib_of_test").mkdir()
    (tmp_path / "lib_of_test" / "__init__.py").write_text("from .base import Base, Size\n")
    (tmp_path / "lib_of_test" / "base.py").write_text(
        """
from __future__ import annotations
import enum
from dataclasses import dataclass
from typing import TYPE_CHECKING, Iterator
from cog import BaseRunner, Input, streaming
if TYPE_CHECKING:
    import torch
class Size(str, enum.Enum):
    S = "s"
    M = "m"
@dataclass
class Out:
    n: int
    next: Out | None = None
CHOICES = [n * n for n in range(1, 4)]
class Base(BaseRunner):
    def setup(self, device: torch.device = None) -> None: ...
    @streaming
    def run(self, size: Size = Size.S, n: int = Input(choices=CHOICES)) -> Iterator[Out]:
        yield Out(n)
"""
    )
    agree("from lib_of_test import Base\nclass Runner(Base): ...\n")


def test_the_reading_leaves_no_modules_behind(model, tmp_path):
    (tmp_path / "helper_of_test.py").write_text("N = 3\n")
    source = "from helper_of_test import N\ndef run(n: int = N) -> int: ...\n"
    (tmp_path / "predict_of_test.py").write_text(source)
    before = set(sys.modules)
    read_predictor("predict_of_test.py", str(tmp_path))
    assert set(sys.modules) == before
