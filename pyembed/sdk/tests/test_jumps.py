"""Where an exception at a jump back to the start of a loop is caught."""

import asyncio
import dis
import inspect
import subprocess
import sys
import types

import pytest


@pytest.fixture
def tables(monkeypatch):
    """The tables that were set, by the code."""
    found = {}
    worker = types.ModuleType("_px")
    worker.set_exception_table = lambda code, table, _: found.update({code: table})
    monkeypatch.setitem(sys.modules, "_px", worker)
    monkeypatch.delitem(sys.modules, "cog._worker.serve.jumps", raising=False)
    yield found
    sys.modules.pop("cog._worker.serve.jumps", None)


def codes(code):
    yield code
    for value in code.co_consts:
        if isinstance(value, types.CodeType):
            yield from codes(value)


def blocks(code):
    """Return the handler of each instruction, and the depth of the stack there."""
    from cog._worker.serve.swallowed import table

    entries = list(table(code))
    assert entries == sorted(entries)
    return {at: next(((*e[2:],) for e in entries if e[0] <= at < e[1]), None) for at in range(0, len(code.co_code), 2)}


@pytest.mark.parametrize("module", [asyncio.base_events, inspect, subprocess])
def test_jumps_of_a_module_are_caught_as_their_targets(module, tables):
    from cog._worker.serve.jumps import catch_at_jump

    changed = 0
    for code in codes(compile(inspect.getsource(module), "module", "exec")):
        for jump in dis.get_instructions(code):
            if jump.opname != "JUMP_BACKWARD":
                continue
            tables.clear()
            catch_at_jump(types.SimpleNamespace(f_code=code, f_lasti=jump.offset))
            before = blocks(code)
            target = before[jump.argval]
            if target in (None, before[jump.offset]):
                assert not tables
                continue
            changed += 1
            after = blocks(code.replace(co_exceptiontable=tables[code]))
            differ = [at for at in before if before[at] != after[at]]
            assert differ[0] == jump.offset
            assert all(after[at] == target for at in differ)
            assert all(code.co_code[at] == 0 for at in differ[1:])  # its caches
    assert changed > 0 or sys.version_info < (3, 12)
