"""Names of Cog's packages that models on GitHub import, and those that Cog 0.23.1 has."""

from __future__ import annotations

import importlib

import pytest
from programs import python

# In how many public files it was seen at least, not in Cog itself: look-ups of "from MODULE import"
# return ten files each. 0: it was in none of them, and Cog has or had it.
USED = {
    "cog": {
        "AsyncConcatenateIterator": 4, "AsyncIterator": 2, "BaseModel": 10, "BasePredictor": 10,
        "BaseRunner": 10, "CancelationException": 0, "ConcatenateIterator": 3,
        "ExperimentalFeatureWarning": 0, "FieldInfo": 0, "File": 3, "Input": 10, "Opaque": 1,
        "Path": 10, "Secret": 4, "URLFile": 0, "URLPath": 0, "__version__": 0, "concurrent": 2,
        "current_scope": 6, "emit_metric": 0, "streaming": 2,
    },
    "cog.base_predictor": {"BasePredictor": 1},
    "cog.coder": {"Coder": 1, "dataclass_coder": 2, "json_coder": 6, "set_coder": 1},
    "cog.errors": {"CogError": 0, "ConfigDoesNotExist": 2, "PredictorNotSet": 1},
    "cog.exceptions": {"CancelationException": 1},
    "cog.input": {"FieldInfo": 0, "Input": 0},
    "cog.mode": {"Mode": 0},
    "cog.model": {"BaseModel": 0},
    "cog.predictor": {
        "BasePredictor": 3, "BaseRunner": 0, "extract_setup_weights": 0, "has_setup_weights": 0,
        "load_predictor_from_ref": 0,
    },
    "cog.server.exceptions": {"CancelationException": 5},
    "cog.server.scope": {"current_scope": 2},
    "cog.suppress_output": {"suppress_output": 0},
    "cog.types": {
        "AsyncConcatenateIterator": 1, "ConcatenateIterator": 1, "ExperimentalFeatureWarning": 1,
        "FILENAME_ILLEGAL_CHARS": 0, "FILENAME_MAX_LENGTH": 0, "File": 0, "Path": 3, "Secret": 0,
        "URLFile": 0, "URLPath": 0, "Weights": 0, "get_filename": 0,
    },
    "coglet": {"CancelationException": 1, "__version__": 0},
}  # fmt: skip

NAMES = [(module, name) for module, names in USED.items() for name in names]


@pytest.mark.parametrize(("module", "name"), NAMES)
def test_the_name_is_there(module, name):
    assert hasattr(importlib.import_module(module), name)


def test_each_is_imported_alone():
    """No name needs that another one was imported before it."""
    code = "import sys\n" + "".join(
        f"import {module}\nfrom {module} import {name}\n"
        "for m in [m for m in sys.modules if m.partition('.')[0] in ('cog', 'coglet')]:\n"
        "    del sys.modules[m]\n"
        for module, name in NAMES
    )
    python(code)


def test_weights(tmp_path, monkeypatch):
    from cog import BaseRunner, Path
    from cog.predictor import extract_setup_weights, has_setup_weights
    from cog.types import Weights

    class With(BaseRunner):
        def setup(self, weights: Weights) -> None:
            pass

    class Without(BaseRunner):
        def setup(self) -> None:
            pass

    assert has_setup_weights(With())
    assert not has_setup_weights(Without())
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("COG_WEIGHTS", raising=False)
    assert extract_setup_weights(With()) is None
    (tmp_path / "weights").mkdir()
    assert extract_setup_weights(With()) == Path("weights")
    monkeypatch.setenv("COG_WEIGHTS", "https://a.test/w.tar")
    assert extract_setup_weights(With()) == "https://a.test/w.tar"
