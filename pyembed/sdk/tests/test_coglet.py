"""The module that the official package expects."""

import cog
import coglet


def test_names():
    assert coglet.__version__ == cog.__version__
    assert coglet.CancelationException is cog.CancelationException
    assert coglet.server.active is False
    assert repr(coglet.server) == "coglet.server"
    assert coglet._sdk.current_scope is cog.current_scope


def test_active_in_a_worker(monkeypatch):
    import sys
    import types

    monkeypatch.setitem(sys.modules, "_px", types.ModuleType("_px"))
    assert coglet.server.active is True
