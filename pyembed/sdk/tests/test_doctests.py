"""Each public name shows how it is used, and what it shows is right.

`test_doctest.py` runs the files as a whole.
"""

from __future__ import annotations

import doctest
import inspect
import pathlib

import pytest
from test_doctest import attribute_docs

import cog
import cog.coder
import cog.errors
import cog.exceptions
import cog.mode
import cog.types

SUBMODULES = [cog.coder, cog.errors, cog.exceptions, cog.mode]
# These say what they are where they are defined, as strings below an assignment.
DATA = {"Opaque": "_opaque.py", "__version__": "__init__.py"}


def public_names():
    yield from ((cog, name) for name in cog.__all__)
    for module in SUBMODULES:
        for name, value in vars(module).items():
            if inspect.isclass(value) and value.__module__ == module.__name__:
                yield module, name


def examples_of(module, name):
    if name in DATA and module is cog:
        folder = pathlib.Path(cog.__file__).parent
        text = "\n".join(attribute_docs(folder / DATA[name]))
    else:
        text = inspect.getdoc(getattr(module, name)) or ""
    return doctest.DocTestParser().get_doctest(text, {}, f"{module.__name__}.{name}", None, None)


@pytest.mark.parametrize(("module", "name"), [*public_names()], ids=lambda v: getattr(v, "__name__", v))
def test_a_public_name_has_an_example_that_works(module, name):
    test = examples_of(module, name)
    source = "".join(example.source for example in test.examples)
    assert name in source, f"no example uses {name}"
    # With nothing imported but what the example itself imports.
    result = doctest.DocTestRunner(verbose=False).run(test)
    assert result.failed == 0
