"""The examples in docstrings, run."""

import doctest
import importlib
import pathlib

import pytest

import cog
import coglet

FILES = [
    file
    for package in (cog, coglet)
    for file in pathlib.Path(package.__file__).parent.rglob("*.py")
    if ">>>" in file.read_text()
]


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_examples(file):
    parts = file.relative_to(pathlib.Path(cog.__file__).parents[1]).with_suffix("").parts
    module = importlib.import_module(".".join(part for part in parts if part != "__init__"))
    # module=False: classes name the public module as theirs, not the file they stand in.
    found = doctest.DocTestFinder().find(module, module=False, globs=vars(module).copy())
    tests = [test for test in found if test.examples]
    tests += [
        doctest.DocTestParser().get_doctest(text, vars(module).copy(), file.stem, str(file), 0)
        for text in attribute_docs(file)
    ]
    assert tests
    for test in tests:
        result = doctest.DocTestRunner().run(test)
        assert result.failed == 0


def attribute_docs(file):
    """Return the strings that stand below assignments and document them."""
    import ast

    for node in ast.parse(file.read_text()).body:
        text = getattr(getattr(node, "value", None), "value", None)
        if isinstance(node, ast.Expr) and isinstance(text, str) and ">>>" in text:
            yield text


@pytest.mark.parametrize("name", [name for name in cog.__all__ if name[0].isupper()])
def test_public_names_have_docstrings(name):
    if name != "Opaque":
        assert getattr(cog, name).__doc__
