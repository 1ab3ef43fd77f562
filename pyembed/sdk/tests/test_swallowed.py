"""Which instructions clean up, and which are in reach of a handler."""

import dis
import linecache
import sys
import types

import pytest


@pytest.fixture
def swallowed(monkeypatch):
    monkeypatch.setitem(sys.modules, "_px", types.ModuleType("_px"))
    from cog._worker.serve import swallowed

    return swallowed


SOURCE = """
def f(a):
    a.before()
    try:
        a.tried()
        with a:
            a.within()
    except OSError as error:
        a.handles(error)
    finally:
        a.cleans()
    a.after()
"""


def calls(swallowed, judge):
    """Return what judge says of the instruction that loads each method of f, in the order of the code."""
    linecache.cache["f.py"] = len(SOURCE), None, SOURCE.splitlines(keepends=True), "f.py"
    code = next(c for c in compile(SOURCE, "f.py", "exec").co_consts if isinstance(c, types.CodeType))
    loads = [i for i in dis.get_instructions(code) if i.opname in ("LOAD_METHOD", "LOAD_ATTR")]
    return [(i.argval, judge(code, i.offset)) for i in loads]


def test_clean_up(swallowed):
    """The `finally` block is there several times: behind the body, behind a handler, and as a handler itself."""
    found = calls(swallowed, swallowed._cleans_up)
    assert {name for name, cleans in found if cleans} == {"cleans"}
    assert {cleans for name, cleans in found if name == "cleans"} == {True}


def test_reach_of_handlers(swallowed):
    found = calls(swallowed, swallowed._is_tried)
    assert {name for name, tried in found if tried} - {"cleans"} == {"tried", "within", "handles"}
