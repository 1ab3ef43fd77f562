"""The event loop of async models."""

from __future__ import annotations

import asyncio
import importlib
import selectors
import sys
import types


def test_a_loop_that_the_model_sets_is_used(monkeypatch):
    """CPython's own has our selector; what a policy makes instead is as it was made."""

    class Own(asyncio.SelectorEventLoop):
        pass

    class Policy(asyncio.DefaultEventLoopPolicy):
        def __init__(self, make):
            super().__init__()
            self.new_event_loop = make

    monkeypatch.setitem(sys.modules, "_px", types.ModuleType("_px"))
    monkeypatch.delitem(sys.modules, "cog._worker.serve.loop", raising=False)
    ours = importlib.import_module("cog._worker.serve.loop")
    monkeypatch.delitem(sys.modules, "cog._worker.serve.loop")
    loop = ours.new_loop()
    assert (type(loop), type(loop._selector)) == (asyncio.SelectorEventLoop, ours.Selector)
    loop.close()
    own, polling = Own(), asyncio.SelectorEventLoop(selectors.PollSelector())
    try:
        for wanted in own, polling:
            asyncio.set_event_loop_policy(Policy(lambda wanted=wanted: wanted))
            assert ours.new_loop() is wanted
            wanted.close()
    finally:
        asyncio.set_event_loop_policy(None)
