"""The page docs/reference/python.md: what it says, what it names, and its programs."""

from __future__ import annotations

import inspect
import os
import pathlib
import re
import sys
import types

import pytest
from reference import SECTIONS, examples, page

import cog

PAGE = pathlib.Path(__file__).parents[3] / "docs/reference/python.md"

NOT_ON_IT = {"__version__"}


def test_the_page_is_what_the_package_says(model):
    text = page(model)
    if os.environ.get("PINION_UPDATE_GOLDEN") == "1":
        PAGE.write_text(text)
    assert PAGE.read_text() == text, "run it with PINION_UPDATE_GOLDEN=1 and look at the difference"


def test_the_page_has_every_public_name():
    named = {name.rpartition(".")[2] for _, _, names in SECTIONS for name in names}
    assert set(cog.__all__) - named == NOT_ON_IT


def test_the_page_explains_every_keyword_of_input():
    _, _, section = PAGE.read_text().partition("### `Input`\n")
    prose = section.partition("\n### ")[0].partition("-> Any`")[2]
    names = inspect.signature(cog.Input).parameters
    assert [name for name in names if not re.search(rf"\b{name}\b", prose)] == []


@pytest.mark.parametrize("program", [*examples(PAGE.read_text())])
def test_a_program_of_the_page_runs(program, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    module = types.ModuleType("page")
    monkeypatch.setitem(sys.modules, "page", module)  # dataclasses look their module up
    exec(compile(program, "python.md", "exec"), vars(module))
