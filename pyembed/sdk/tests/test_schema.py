"""Documents, against golden files. Set PINION_UPDATE_GOLDEN=1 to write them anew."""

from __future__ import annotations

import json
import os
from pathlib import Path as FilePath

import pytest
from signatures import CASES, DOUBTS, PYDANTIC, REFUSALS
from sources import function_source

from cog._worker.model.load import LoadError
from cog._worker.model.notices import notices
from cog._worker.schema.document import openapi

GOLDEN = FilePath(__file__).parent / "golden"
UPDATE = os.environ.get("PINION_UPDATE_GOLDEN") == "1"

FIXED = {
    "HTTPValidationError", "PredictionRequest", "PredictionResponse", "Status", "ValidationError",
}  # fmt: skip


def check(name: str, found: object) -> None:
    """Compare with a golden file; or write it, if asked to."""
    file = GOLDEN / f"{name}.json"
    text = json.dumps(found, indent=2, ensure_ascii=False) + "\n"
    if UPDATE:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    assert file.read_text() == text


def own_part(document: dict) -> dict:
    schemas = document["components"]["schemas"]
    return {name: schema for name, schema in schemas.items() if name not in FIXED}


@pytest.mark.parametrize("name", CASES)
def test_signature(run, name):
    check(f"signatures/{name}", own_part(openapi(run(*CASES[name]))))


@pytest.mark.parametrize("name", CASES)
def test_signature_with_postponed_annotations(model, name):
    """`from __future__ import annotations` changes nothing."""
    source = "from __future__ import annotations\n" + function_source(*CASES[name])
    check(f"signatures/{name}", own_part(openapi(model(source))))


@pytest.mark.parametrize("name", CASES)
def test_signature_of_a_method(model, name):
    """A method's document is that of the function: self is not an input."""
    parameters, returns, before = CASES[name]
    source = function_source("", "None", before) + (
        f"\nclass Runner(BaseRunner):\n    def run(self, {parameters}) -> {returns}: ...\n"
    )
    check(f"signatures/{name}", own_part(openapi(model(source))))


@pytest.mark.parametrize("name", PYDANTIC)
def test_pydantic(run, name):
    pytest.importorskip("pydantic")
    check(f"signatures/{name}", own_part(openapi(run(*PYDANTIC[name]))))


@pytest.mark.parametrize("name", REFUSALS)
def test_refusal(run, name):
    parameters, message = REFUSALS[name]
    with pytest.raises(LoadError) as caught:
        run(*parameters)
    text = str(caught.value)
    assert message in text
    assert text.startswith("predict.py:")
    assert text.partition(":")[2].partition(":")[0].isdigit()


@pytest.mark.parametrize("name", DOUBTS)
def test_doubt(run, name, tmp_path):
    parameters, message = DOUBTS[name]
    (line,) = notices(run(*parameters), str(tmp_path))
    assert message in line
    assert line.startswith("predict.py:")


def test_golden_folder_has_no_leftovers():
    known = {f"{name}.json" for name in (*CASES, *PYDANTIC)}
    assert {file.name for file in (GOLDEN / "signatures").iterdir()} == known


def test_whole_document(run):
    check("documents/prediction", openapi(run("text: str")))


def test_streaming_document(model):
    source = function_source("", "None") + ("\n@streaming\ndef run(n: int) -> ConcatenateIterator[str]: ...\n")
    check("documents/streaming", openapi(model(source)))


def test_documents_with_trainings(model):
    predictor = model(function_source("size: str = Input(choices=['s'])"))
    trainer = model(
        function_source("size: str = Input(choices=['big']), data: Path = Input()", "Path").replace(
            "def run", "def train"
        ),
        "train.py:train",
        "train",
    )
    check("documents/both", openapi(predictor, trainer))
    check("documents/training", openapi(None, trainer))


def test_same_choices_in_both_share_a_schema(model):
    source = function_source("size: Literal['s', 'm']")
    one, two = model(source), model(source.replace("def run", "def train"), "t.py:train", "train")
    schemas = openapi(one, two)["components"]["schemas"]
    assert "size" in schemas
    assert "TrainingInput_size" not in schemas


def test_document_is_json(run):
    for name, case in CASES.items():
        json.dumps(openapi(run(*case)), allow_nan=False), name


def test_line_of_the_parameter(model):
    with pytest.raises(LoadError, match=r'^predict.py:6: parameter "b" of Runner.run: '):
        model(
            """\
            from cog import BaseRunner
            class Runner(BaseRunner):
                def run(
                    self,
                    a: str,
                    b: bytes,
                ) -> str: ...
            """
        )


def test_line_of_the_return_type(model):
    with pytest.raises(LoadError, match=r"^predict.py:4: the return type of run: "):
        model("from typing import *\ndef run(\n    a: int,\n) -> Optional[int]: ...\n")


def test_no_return_annotation(model):
    document = openapi(model("def run(a: int): ...\n"))
    assert document["components"]["schemas"]["Output"] == {"title": "Output"}


def test_type_checking_imports_are_explained(model):
    with pytest.raises(LoadError, match="import the name outside of `if TYPE_CHECKING:`"):
        model(
            """
            from __future__ import annotations
            from typing import TYPE_CHECKING
            if TYPE_CHECKING:
                from cog import Path
            def run(a: Path) -> str: ...
            """
        )


@pytest.mark.parametrize("first", ["", "from __future__ import annotations"])
def test_names_of_the_class_itself(model, first):
    document = openapi(
        model(
            f"""{first}
from cog import BaseModel, BaseRunner
class Base(BaseRunner):
    class Output(BaseModel):
        n: int
class Runner(Base):
    Size = int
    Output = Base.Output
    def run(self, size: Size = 3) -> Output: ...
"""
        )
    )
    schemas = document["components"]["schemas"]
    assert schemas["Input"]["properties"]["size"]["type"] == "integer"
    assert list(schemas["Output"]["properties"]) == ["n"]


def test_member_called_as_its_type(model):
    document = openapi(
        model(
            """
            from __future__ import annotations
            from datetime import date
            from typing import Optional
            from cog import BaseModel
            class Out(BaseModel):
                date: Optional[date] = None
                int: int = 3
            def run() -> Out: ...
            """
        )
    )
    members = document["components"]["schemas"]["Output"]["properties"]
    assert members["date"] == {"title": "Date", "type": "string", "format": "date", "nullable": True}


def test_class_of_another_module(model, tmp_path):
    (tmp_path / "outputs_of_test.py").write_text(
        "from __future__ import annotations\nfrom cog import BaseModel, Path as P\nclass Out(BaseModel):\n    file: P\n"
    )
    document = openapi(model("from outputs_of_test import Out\ndef run() -> Out: ...\n"))
    assert document["components"]["schemas"]["Output"]["properties"]["file"]["format"] == "uri"


def test_streaming_wants_an_iterator(model):
    with pytest.raises(LoadError, match="@streaming requires an iterator as the return type, not str"):
        model("from cog import streaming\n@streaming\ndef run() -> str: ...\n")


def test_secret_defaults_stay_out_of_the_document(run):
    document = openapi(run("a: Secret = Secret('hunter2'), b: list[Secret] = ['hunter2']"))
    assert "hunter2" not in json.dumps(document)


def test_secret_defaults_stay_out_of_messages(run):
    (line,) = notices(run("a: list[Secret] = ['hunter2', 5]"), "")
    assert "the default is not of type Secret" in line


ABOUT = {
    "class": (
        'class Runner(BaseRunner):\n    """Paints.\n\n    In oil.\n    """\n'
        '    def run(self, n: int) -> int:\n        """Runs."""\n',
        "Paints.\n\nIn oil.",
    ),
    "method": ('class Runner(BaseRunner):\n    def run(self, n: int) -> int:\n        """Runs."""\n', "Runs."),
    "function": ('def run(n: int) -> int:\n    """Adds.\n\n        Twice.\n    """\n', "Adds.\n\nTwice."),
    "dataclass": (
        "import dataclasses\n@dataclasses.dataclass\nclass Runner:\n    n: int = 0\n"
        "    def run(self, n: int) -> int: ...\n",
        None,
    ),
    "inherited": (
        'class Base(BaseRunner):\n    """A base."""\nclass Runner(Base):\n    def run(self, n: int) -> int: ...\n',
        None,
    ),
}


@pytest.mark.parametrize("name", ABOUT)
def test_description_is_the_docstring(model, name):
    source, want = ABOUT[name]
    document = openapi(model("from cog import BaseRunner\n" + source))
    assert document["info"].get("description") == want
