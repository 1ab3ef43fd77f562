"""Fixtures that all tests of the Python side share."""

from __future__ import annotations

import importlib
import sys
import textwrap
import typing
from collections.abc import Callable, Iterator
from pathlib import Path as FilePath

import pytest
from sources import function_source

from cog import coder
from cog._worker.model.load import Predictor, load_predictor


@pytest.fixture(autouse=True)
def clean_imports() -> Iterator[None]:
    """Forget what a test imported from its own folder, so that tests do not meet."""
    path = list(sys.path)
    coders = list(coder._order)
    sys.dont_write_bytecode = True
    # typing keeps what it made. From Python 3.14 on it gives one union for another in a new order.
    for forget in typing._cleanups:  # type: ignore[attr-defined]
        forget()
    yield
    forget_models()
    sys.path[:] = path
    for known in set(coder._order) - set(coders):
        del coder._order[known]
        coder.Coder._coders.discard(known)


# The modules that were found not to be of a test, so that each is looked at once.
_others: dict[str, object] = {}


def forget_models() -> None:
    """Drop the modules that were imported from folders of tests."""
    removed = []
    for name, module in list(sys.modules.items()):
        if _others.get(name) is module:
            continue
        places = [getattr(module, "__file__", None), *getattr(module, "__path__", ())]
        if any(place and "/pytest-" in str(place) for place in places):
            removed.append(name)
        else:
            _others[name] = module
    for name in removed:  # later, for the path of a package is looked up through its parent
        del sys.modules[name]
    for folder in [folder for folder in sys.path_importer_cache if "/pytest-" in folder]:
        del sys.path_importer_cache[folder]
    # Files written within one tick of the file system's clock look unchanged.
    importlib.invalidate_caches()


@pytest.fixture
def model(tmp_path: FilePath) -> Callable[..., Predictor]:
    """Return a function that writes a model's source to a file and loads it."""

    def load(source: str, ref: str = "predict.py", mode: str = "predict") -> Predictor:
        file = tmp_path / ref.partition(":")[0]
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(textwrap.dedent(source))
        forget_models()
        return load_predictor(ref, str(tmp_path), mode)

    return load


@pytest.fixture
def run(model: Callable[..., Predictor]) -> Callable[..., Predictor]:
    """Return a function that loads one line of parameters as a plain function."""

    def load(parameters: str, returns: str = "str", before: str = "") -> Predictor:
        return model(function_source(parameters, returns, before))

    return load
