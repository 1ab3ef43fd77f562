"""What a worker knows of predictions that call batched methods."""

import asyncio
import sys
import types


class TestStepHub:
    def test_a_call_finds_the_prediction_that_was_announced_before_it(self, monkeypatch):
        """A turn of the loop may take the call before it runs what was announced."""
        worker = types.ModuleType("_px")
        worker.get_ident = lambda: 1
        monkeypatch.setitem(sys.modules, "_px", worker)
        monkeypatch.delitem(sys.modules, "cog._worker.batch.hub", raising=False)
        from cog._worker.batch.hub import StepHub

        loop = asyncio.new_event_loop()
        try:
            hub = StepHub(loop, None, None)
            hub.announce((0, 7))
            assert hub.caller((0, 7)) is not None
            loop.call_soon(loop.stop)
            loop.run_forever()
            assert hub.running == 1
            hub.end((0, 7))
            assert hub.caller((0, 7)) is None
            assert hub.running == 0
        finally:
            loop.close()
