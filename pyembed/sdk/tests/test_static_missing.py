"""The static reading of a model whose libraries are not installed: what it keeps all the same."""

from __future__ import annotations

import re
import sys
import textwrap

import pytest

from cog._worker.model.load import LoadError
from cog._worker.schema.document import openapi
from cog._worker.static.reader import Refusal, read_predictor

CLASS = """
from cog import BasePredictor, Input
class Predictor(BasePredictor):
    def predict(self, s: str = Input(default={default})) -> str: ...
"""


@pytest.fixture
def default(tmp_path):
    """Return a function that reads the default of an input after some statements."""

    def read(before: str, expression: str):
        source = textwrap.dedent(before) + CLASS.format(default=expression)
        (tmp_path / "predict.py").write_text(source)
        return read_predictor("predict.py", str(tmp_path)).signature.inputs[0].default

    return read


# What stands before the class, an expression, its value; or why that is not known.
TRIES = {
    "what came before a failed import": (
        "try:\n    X = 'a'\n    import absent\n    Y = 'b'\nexcept Exception: print('why')\n",
        "X",
        "a",
    ),
    "what comes after one": (
        "Y = 'c'\ntry:\n    import absent\n    Y = 'b'\nexcept Exception:\n    pass\n",
        "Y",
        Refusal,
    ),
    "what a handler binds anew": (
        "try:\n    X = 'a'\n    import absent\nexcept ImportError:\n    X = 'b'\n",
        "X",
        Refusal,
    ),
    "what else is bound": (
        "X = 'a'\ntry:\n    import absent\nexcept ImportError:\n    pass\nelse:\n    X = 'b'\n",
        "X",
        Refusal,
    ),
    "a flag": ("try:\n    import absent\n    HAS = 'yes'\nexcept ImportError:\n    HAS = 'no'\n", "HAS", Refusal),
    "an import that must succeed": (
        "import sys\ntry:\n    import absent\n    X = 'a'\nexcept ImportError: sys.exit('why')\n",
        "X",
        "a",
    ),
    "an import that must succeed, or else": (
        "try:\n    import absent\n    X = 'a'\nexcept ImportError:\n    raise RuntimeError\n",
        "X",
        "a",
    ),
    "a list that later statements change": (
        "try:\n    X = ['a']\n    import absent\n    X.append('b')\nexcept ImportError: pass\n",
        "X[0]",
        Refusal,
    ),
    "a list that a handler changes": (
        "try:\n    X = ['a']\n    import absent\nexcept ImportError:\n    X.clear()\n",
        "X[0]",
        Refusal,
    ),
    "a list that nothing changes": ("try:\n    X = ['a']\n    import absent\nexcept ImportError: pass\n", "X[0]", "a"),
    "two statements in one line": ("try: X = 'a'; import absent; X = 'b'\nexcept ImportError: pass\n", "X", Refusal),
}


@pytest.mark.parametrize("name", TRIES)
def test_imports_in_a_try(default, name):
    before, expression, value = TRIES[name]
    if value is Refusal:
        with pytest.raises(Refusal, match=r"it depends on whether|it is changed by|is not imported"):
            default(before, expression)
    else:
        assert default(before, expression) == value


# Types of an input of which a part is not installed, and the schema that each has.
ONE = {"type": "object"}
OPAQUE = {
    "Annotated[Thing, Opaque]": ONE,
    "Annotated['Thing', Opaque]": ONE,
    "Annotated[absent.Of[int], Opaque]": ONE,
    "Annotated[Dict[str, Thing], Opaque]": ONE,
    "Annotated[Union[Thing, int], Opaque]": ONE,
    "Annotated[List[Thing], Opaque]": {"type": "array", "items": ONE},
    "Annotated[list[absent.Thing], Opaque]": {"type": "array", "items": ONE},
    "Annotated[List['Thing'], Opaque]": {"type": "array", "items": ONE},
    "Annotated[Optional[Thing], Opaque]": {**ONE, "nullable": True},
    "Annotated[Thing | None, Opaque]": {**ONE, "nullable": True},
    "Annotated[None | Thing, Opaque]": {**ONE, "nullable": True},
    "Optional[Annotated[Thing, Opaque]]": {**ONE, "nullable": True},
    "Annotated[Thing, Opaque, Input(description=Thing.text)]": Refusal,
    "Annotated[Thing, Input(description='x')]": Refusal,
    "Annotated[dict, Thing]": ONE,
    "List[Thing]": Refusal,
    "Optional[Thing]": Refusal,
    "Union[int, List[Thing]]": Refusal,
}


@pytest.mark.parametrize("quoted", [False, True])
@pytest.mark.parametrize("annotation", OPAQUE)
def test_opaque_types_of_a_library_that_is_not_installed(tmp_path, annotation, quoted):
    (tmp_path / "predict.py").write_text(
        f"from __future__ import {'annotations' if quoted else 'division'}\n"
        "from typing import Annotated, Dict, List, Optional, Union\nimport absent\n"
        "from absent import Thing\nfrom cog import Input, Opaque\n"
        f"def predict(a: {annotation}) -> Annotated[List[Thing], Opaque]: ...\n"
    )
    want = OPAQUE[annotation]
    if want is Refusal:
        with pytest.raises(Refusal, match=r"predict\.py:6: absent\.Thing"):
            read_predictor("predict.py", str(tmp_path))
        return
    schemas = openapi(read_predictor("predict.py", str(tmp_path)))["components"]["schemas"]
    shown = schemas["Input"]["properties"]["a"]
    assert {n: v for n, v in shown.items() if n not in ("title", "x-order")} == want
    assert schemas["Output"] == {"title": "Output", "type": "array", "items": ONE}


@pytest.mark.parametrize("look", ["typing.get_args(Thing)", "isinstance(Thing, type)", "str(Thing)"])
def test_what_an_unknown_type_is_stays_unknown(default, look):
    before = "import typing\nfrom absent import Thing\n"
    with pytest.raises(Refusal, match="when the source is only read"):
        default(before, f"'a' if {look} else 'b'")
    assert default(before, "'b' if typing.List[Thing] is None else 'a'") == "a"


def test_cog_beside_a_library_that_is_not_installed(tmp_path):
    """As public models have it, which install at their top what they then import in a `try`."""
    (tmp_path / "predict.py").write_text(
        """
import os
os.system("touch made && pip install absent")
import torch
from absent.arch import Network
try:
    from cog import BasePredictor, Input, Path
    from absent import Enhancer
except Exception:
    print("please install cog and absent")

class Predictor(BasePredictor):
    def setup(self):
        self.enhancer = Enhancer()
    def predict(self, image: Path, scale: float = Input(default=2)) -> Path: ...
"""
    )
    predictor = read_predictor("predict.py:Predictor", str(tmp_path))
    assert [field.name for field in predictor.signature.inputs] == ["image", "scale"]
    assert [file.name for file in tmp_path.iterdir()] == ["predict.py"]


MEMBERS = [
    "model: Foo",
    "model: List[Foo]",
    "model: Optional[Foo] = None",
    "model: Dict[str, Foo] = {}",
    "model: ClassVar[Foo] = Foo()",
    "model: Callable[[Foo], Foo] = None",
    "model: Missing",
    "model: Optional[gone.Thing] = gone.thing",
    "size: int = int(Foo.size)",
    "size = int(Foo.size)",
    "def __init__(self, foo: Optional[Foo] = Foo.x, *more: List[Foo], n: int = 1): ...",
    "def setup(self, foo: Optional[Foo] = None) -> List[Foo]: ...",
    "def setup(self, weights: Foo): ...",
    "def setup(self, weights: 'Foo'): ...",
    "def helper(self, foo: Optional[Foo] = None) -> List[Foo]: ...",
    "import absent\n    model: Optional[absent.Thing] = None",
    "@dataclass\n    class Inner:\n        foo: Optional[Foo] = None",
    "class Inner(Foo): ...",
    "for x in Foo.all: y = x",
]


@pytest.mark.parametrize("member", MEMBERS)
def test_names_in_the_body_of_a_class(tmp_path, member):
    """What is not known of a member does not hide the class, which has its function anyway."""
    (tmp_path / "predict.py").write_text(
        f"""
from typing import *
from dataclasses import dataclass
from absent import Foo
try:
    import gone
except ImportError:
    pass
from cog import BasePredictor, Input
class Predictor(BasePredictor):
    {member}
    def predict(self, s: str = Input(default="a")) -> str: ...
"""
    )
    predictor = read_predictor("predict.py:Predictor", str(tmp_path))
    assert [field.name for field in predictor.signature.inputs] == ["s"]


HEAD = "import absent\nfrom cog import BasePredictor\n"
PREDICTOR = HEAD + "class Predictor(BasePredictor):\n    "
# What stays unknown, and the line that says why: Python 3.10 has a decorator at its `def`.
PLACES = {
    HEAD + "from absent import Predictor\n": "3",
    HEAD + "from absent import *\n": "3",
    HEAD + "Predictor = absent.make()\n": "3",
    HEAD + "@absent.wrap\nclass Predictor(BasePredictor):\n    def predict(self) -> str: ...\n": "[34]",
    HEAD + "class Predictor(absent.Base):\n    def predict(self) -> str: ...\n": "3",
    PREDICTOR + "predict = absent.predict\n": "3",
    PREDICTOR + "@absent.wrap\n    def predict(self) -> str: ...\n": "3",
    PREDICTOR + "def predict(self, x: 'absent.X') -> str: ...\n": "4",
    PREDICTOR + "def predict(self) -> 'absent.X': ...\n": "4",
    PREDICTOR + "def predict(self) -> str: ...\n    def __init__(self): self.predict = absent.x\n": "3",
}


@pytest.mark.parametrize("source", PLACES)
def test_every_refusal_has_its_place(tmp_path, source):
    (tmp_path / "predict.py").write_text(source)
    with pytest.raises(Refusal) as caught:
        read_predictor("predict.py", str(tmp_path))
    assert re.match(rf"predict\.py:{PLACES[source]}: ", str(caught.value)), str(caught.value)


@pytest.mark.parametrize("base", ["BaseModel", "object"])
@pytest.mark.parametrize("member", ["foo: Optional[Foo] = None", "foo: List[Foo]", "foo: Missing"])
def test_members_that_belong_to_the_document_are_refused(tmp_path, base, member):
    decorator = "@dataclass" if base == "object" else ""
    (tmp_path / "predict.py").write_text(
        f"""
from typing import *
from dataclasses import dataclass
from absent import Foo
from cog import BaseModel, BasePredictor
{decorator}
class Output({base}):
    n: int
    {member}
class Predictor(BasePredictor):
    def predict(self) -> Output: ...
"""
    )
    # From Python 3.14 on annotations are evaluated at their first use: a name is missing only then.
    late = member == "foo: Missing" and sys.version_info >= (3, 14)
    with pytest.raises(LoadError if late else Refusal) as caught:
        openapi(read_predictor("predict.py:Predictor", str(tmp_path)))
    assert re.search(r"predict\.py:(9|11|12): ", str(caught.value)), str(caught.value)


@pytest.mark.parametrize("ref", ["cog/predict.py:Predictor", "cog/cog.py:Predictor", "cog.py:Predictor"])
@pytest.mark.parametrize("package", [False, True])
def test_a_folder_that_has_the_name_of_the_package(tmp_path, ref, package):
    file = tmp_path / ref.partition(":")[0]
    file.parent.mkdir(exist_ok=True)
    file.write_text(
        """
from cog import BasePredictor, Input
from sizes_beside import SIZES
class Predictor(BasePredictor):
    def predict(self, n: int = Input(default=1, choices=SIZES)) -> str: ...
"""
    )
    (file.parent / "sizes_beside.py").write_text("SIZES = [1, 2]\n")
    if package and file.parent != tmp_path:
        (file.parent / "__init__.py").write_text("raise RuntimeError('this is not to be run')\n")
    schemas = openapi(read_predictor(ref, str(tmp_path)))["components"]["schemas"]
    assert schemas["n"]["enum"] == [1, 2]


# What may fill a registry, and what its keys are then; None if that is not known.
FILLED = {
    "x = len(registry.MODELS)\ndef f(): return registry.MODELS": ["first"],
    "absent.fill(1)\nx = sorted(absent.names)": ["first"],
    "registry.MODELS['a'] = 1": None,
    "registry.MODELS.update(a=2)": None,
    "from registry import MODELS\nMODELS.setdefault('a', absent.b)": None,
    "import plugin": None,
    "import importlib\nfor name in absent.names: importlib.import_module(name)": None,
    "for name in absent.names: __import__(name)": None,
    "import importlib\ndef load(name): importlib.import_module(name)\nload('x')": None,
    "for name in absent.names: registry.MODELS[name] = 1": None,
    "def more(name): registry.MODELS[name] = 2": None,
    "from registry import MODELS as M\ndef more(name): M.setdefault(name, 2)": None,
}


@pytest.mark.parametrize("fill", FILLED)
def test_registries(tmp_path, fill):
    """A container that what is not run may have filled is not known."""
    (tmp_path / "registry.py").write_text("MODELS = {'first': 1}\n")
    (tmp_path / "plugin.py").write_text("import registry\nregistry.MODELS['b'] = registry\n")
    (tmp_path / "predict.py").write_text(
        f"from cog import Input\nimport absent\nimport registry\n{fill}\n"
        "def run(x: str = Input(choices=sorted(registry.MODELS))) -> str: ...\n"
    )
    if FILLED[fill] is None:
        with pytest.raises(Refusal, match="MODELS: it is changed by code that is not run"):
            read_predictor("predict.py", str(tmp_path))
        return
    schemas = openapi(read_predictor("predict.py", str(tmp_path)))["components"]["schemas"]
    assert schemas["x"]["enum"] == FILLED[fill]
