"""What goes into a batched function, what comes out of it, and what its errors mean."""

from __future__ import annotations

import gc
import importlib
import json
import sys
import types
import weakref

import pytest

from cog.errors import OutputError


@pytest.fixture
def module(monkeypatch):
    """Return the module, with a worker's C half that keeps what is answered."""
    answers = []
    worker = types.ModuleType("_px")
    worker.reply_item = lambda slot, id, kind, value, nanos, metrics, encode, fail: answers.append(
        (id, kind, value, metrics)
    )

    def reply_batch(slot, ids, values, nanos, metrics, encode):
        good = next((i for i, value in enumerate(values) if value is Ellipsis), len(values))
        answers.extend((id, 16, value, metrics) for id, value in zip(ids[:good], values, strict=False))
        return good

    worker.reply_batch = reply_batch
    worker.log = lambda slot, id, *rest: answers.append((id, *rest))
    worker.dumps = lambda value, encode: json.dumps(value).encode()
    worker.watch = lambda batch: None
    worker.emit_item = lambda slot, id, kind, value: answers.append((id, kind))
    worker.flush = lambda slot: None
    worker.prepared = lambda slot, id: answers.append((id, "prepared"))
    monkeypatch.setitem(sys.modules, "_px", worker)
    ours = ("batch.items", "batch.pending", "serve.sync", "logs.streams")
    for name in ours:
        monkeypatch.delitem(sys.modules, f"cog._worker.{name}", raising=False)
    module = importlib.import_module("cog._worker.batch.items")
    module.pending, module.answers = importlib.import_module("cog._worker.batch.pending"), answers
    yield module
    for name in ours:
        sys.modules.pop(f"cog._worker.{name}", None)


@pytest.fixture
def function(module, model):
    """Return a function that makes a Function of a model's source."""

    def make(parameters="n: list[int], k: int = 1", options="max_size=8", fatal=(), more=""):
        predictor = model(
            "from cog import *\nfrom cog import batch\n"
            f"class Runner:\n    @batch({options})\n"
            f"    def run(self, {parameters}): return n\n{more}"
        )
        return module.Function(predictor.plan, predictor.function, fatal)

    return make


def items(module, *inputs):
    return [module.Item(0, 64 + i, 8, {"input": given}, None) for i, given in enumerate(inputs)]


class TestArguments:
    def test_lists_and_keys(self, module, function):
        run = function("n: list[int], m: list[float], k: int = 1")
        runnable = run.runnable(items(module, {"n": 1, "m": 2, "k": 3}, {"n": 4, "m": 5, "k": 3}))
        arguments = run.arguments(runnable)
        assert arguments == {"n": [1, 4], "m": [2.0, 5.0], "k": 3}
        assert [type(x) for x in arguments["m"]] == [float, float]

    def test_a_key_that_is_absent_is_left_to_the_call(self, module, function):
        run = function()
        assert run.arguments(run.runnable(items(module, {"n": 1}, {"n": 2}))) == {"n": [1, 2]}

    def test_parts_have_equal_keys(self, module, function):
        run = function()
        runnable = run.runnable(items(module, {"n": 1}, {"n": 2, "k": 1}, {"n": 3, "k": 2}, {"n": 4}))
        parts = run.parts(runnable)
        assert [[r.inputs["n"] for r in part] for part in reversed(parts)] == [[1, 2, 4], [3]]

    def test_item_whose_key_cannot_be_compared_fails_alone(self, module, function):
        class Odd:
            def __eq__(self, other):
                raise ValueError("odd")

        run = function()
        all_of = items(module, {"n": 1}, {"n": 2}, {"n": 3})
        for item, key in zip(all_of, (1, Odd(), 1), strict=True):
            item.inputs = {"n": 0, "k": key}
        assert run.parts(all_of) == [[all_of[0], all_of[2]]]
        assert [str(item.error) for item in all_of] == ["None", "odd", "None"]

    def test_items_that_cannot_run(self, module, function):
        run = function()
        good, bad, unread, dropped = all_of = items(module, {"n": 1}, {}, {}, {"n": 2})
        unread.error = ValueError("no JSON")
        dropped.dropped = True
        assert run.runnable(all_of) == [good]
        assert isinstance(bad.error, TypeError)
        assert str(unread.error) == "no JSON"


class Array:
    def __init__(self, *content):
        self.content = content

    def __len__(self):
        return len(self.content)

    def __getitem__(self, i):
        return self.content[i]


class Classless:
    @property
    def __class__(self):
        raise ValueError("classless")


class TestResults:
    def test_element_that_has_no_class_is_taken(self, module, function):
        part, odd = items(module, {}, {}), Classless()
        function().take(part, [1, odd])
        assert [item.error for item in part] == [None, None]
        assert part[1].value is odd

    @pytest.mark.parametrize("result", [[5, 6], (5, 6), Array(5, 6)])
    def test_taken(self, module, function, result):
        part = items(module, {}, {})
        function().take(part, result)
        assert [item.value for item in part] == [5, 6]

    def test_numpy(self, module, function):
        numpy = pytest.importorskip("numpy")
        part = items(module, {}, {})
        function().take(part, numpy.arange(4).reshape(2, 2))
        assert [item.value.tolist() for item in part] == [[0, 1], [2, 3]]
        with pytest.raises(OutputError, match="0-d array"):
            function().take(part, numpy.array(3))

    @pytest.mark.parametrize(
        ("result", "message"),
        [
            ([1], "output must have 2 elements, got 1"),
            ((1, 2, 3), "output must have 2 elements, got 3"),
            (Array(1), "output must have 2 elements, got 1"),
            (None, "output must be a list of 2 elements, got None"),
            ("ab", "got str"),
            ({0: 1, 1: 2}, "got dict"),
            (iter([1, 2]), "got list_iterator"),
            (3, "got int"),
        ],
    )
    def test_refused(self, module, function, result, message):
        with pytest.raises(OutputError, match=message):
            function().take(items(module, {}, {}), result)

    def test_an_exception_is_of_its_item_alone(self, module, function):
        part = items(module, {}, {})
        function().take(part, [ValueError("no"), 1])
        assert str(part[0].error) == "no"
        assert part[1].is_fine()


class TestErrors:
    def carry_out(self, module, function, count, bad, error=None):
        """Run a batch in which some items raise; return the sizes of its runs, and the batch."""
        batch = module.Batch(1, items(module, *({} for _ in range(count))))
        parts, sizes = [list(batch.items)], []
        while parts:
            part = parts.pop()
            sizes.append(len(part))
            if any(item.id - 64 in bad for item in part):
                parts = function.refuse(batch, part, parts, error or ValueError("bad"))
            else:
                function.take(part, [item.id for item in part])
        return sizes, batch

    @pytest.mark.parametrize("count", range(1, 18))
    def test_every_single_bad_item_is_found(self, module, function, count):
        run = function()
        for bad in range(count):
            sizes, batch = self.carry_out(module, run, count, {bad})
            fine = [item.id - 64 for item in batch.items if item.is_fine()]
            assert fine == [i for i in range(count) if i != bad]
            assert all(item.value == item.id for item in batch.items if item.is_fine())
            assert len(sizes) <= 1 + 2 * (count - 1).bit_length()
            assert batch.failed

    def test_several_and_all(self, module, function):
        run = function()
        _, batch = self.carry_out(module, run, 8, {1, 6})
        assert [item.is_fine() for item in batch.items].count(False) == 2
        sizes, batch = self.carry_out(module, run, 4, range(4))
        assert sizes == [4, 2, 1, 1, 2, 1, 1]
        assert not any(item.is_fine() for item in batch.items)

    @pytest.mark.parametrize(
        ("options", "error"),
        [
            ("max_size=8, isolate=False", ValueError("x")),
            ("max_size=8", OutputError("two numbers")),
            ("max_size=8", SystemExit(1)),
            ("max_size=8", RuntimeError("CUDA error: lost")),
        ],
    )
    def test_not_run_again(self, module, function, options, error, capsys):
        run = function(options=options, fatal=("CUDA error",))
        sizes, batch = self.carry_out(module, run, 4, {2}, error)
        assert sizes == [4]
        assert len({item.text for item in batch.items}) == 1
        assert str(error) in batch.items[0].text
        assert capsys.readouterr().err.count(type(error).__name__) == 1

    def test_a_gpu_that_is_lost_on_the_way(self, module, function):
        run = function(fatal=("fatal",))
        batch = module.Batch(1, items(module, *({} for _ in range(8))))
        first, second = batch.items[:4], batch.items[4:]
        assert run.refuse(batch, first, [second], RuntimeError("fatal")) == []
        assert {item.text for item in batch.items} == {"RuntimeError: fatal"}

    def test_the_last_one_has_its_own_traceback(self, module, function):
        (item,) = items(module, {})
        batch = module.Batch(1, [item, item])
        assert function().refuse(batch, [item], [], ValueError("mine")) == []
        item.answer(5, None)
        log, answer = module.answers
        assert log[:2] == (item.id, "stderr")
        assert "ValueError: mine" in log[2]
        assert log[3:] == ('"level":40,"logger":""',)
        assert answer == (item.id, 17, "ValueError: mine", None)


class TestPendingItems:
    @pytest.fixture
    def pending(self, module):
        begun, ready = [], []
        pending = module.pending.PendingItems(0, lambda pending, item: begun.append(item), ready.append)
        pending.begun, pending.ready = begun, ready
        return pending

    def hold(self, pending, *ids):
        pending.sort([(1, id, 8, {"input": {}}, None) for id in ids])
        return pending.begun[-len(ids) :]

    def batch(self, pending, id, *ids):
        return pending.sort([(2, id, 0, {"ids": list(ids)}, None)])

    def test_a_batch_waits_for_all(self, module, pending):
        one, two = self.hold(pending, 1, 2)
        assert self.batch(pending, 9, 1, 2) == []
        assert not pending.prepared(two)
        assert (pending.ready, module.answers, len(pending.waiting)) == ([], [], 1)
        assert not pending.prepared(one)
        assert [r.id for r in pending.ready] == [9]

    def test_prepared_is_reported_once(self, module, pending):
        (one,) = self.hold(pending, 1)
        assert not pending.prepared(one)
        assert module.answers == [(1, "prepared")]
        ((id, _, batch, _),) = self.batch(pending, 9, 1)
        assert (id, batch.items) == (9, [one])

    def test_one_that_failed_is_answered_once(self, module, pending):
        one, two = self.hold(pending, 1, 2)
        one.error = ValueError()
        assert pending.prepared(one)
        pending.prepared(two)
        pending.sort([(3, 0, 0, {"ids": [1]}, None)])
        assert module.answers == [(2, "prepared")]
        ((_, _, batch, _),) = self.batch(pending, 9, 1, 2)
        assert batch.items == [two]

    def test_drop(self, module, pending):
        one, two = self.hold(pending, 1, 2)
        pending.sort([(3, 0, 0, {"ids": [1, 77]}, None)])
        assert module.answers == [(1, 18, None, None)]
        assert not pending.prepared(one)
        pending.prepared(two)
        ((_, _, batch, _),) = self.batch(pending, 9, 1, 2)
        pending.sort([(3, 0, 0, {"ids": [2]}, None)])
        assert len(module.answers) == 2, "its turn has not come"
        pending.answer(two, 3, batch.metrics())
        assert module.answers[-1][:2] == (2, 18)
        pending.sort([(3, 0, 0, {"ids": [2]}, None)])
        assert len(module.answers) == 3

    def batched(self, pending, *ids):
        """Return the batch of those, when the function has returned each one's id."""
        for item in self.hold(pending, *ids):
            pending.prepared(item)
        ((_, _, batch, _),) = self.batch(pending, 9, *ids)
        for item in batch.items:
            item.value = item.id
        batch.size = len(ids)
        return batch

    def test_answers_of_a_batch(self, module, pending):
        batch = self.batched(pending, 1, 2, 3)
        answered = len(module.answers)
        pending.answer_all(batch)
        assert module.answers[answered:] == [(id, 16, id, {"batch_size": 3}) for id in (1, 2, 3)]
        pending.sort([(3, 0, 0, {"ids": [1, 2, 3]}, None)])
        assert len(module.answers) == answered + 3, "they are forgotten"

    def test_nothing_of_a_batch_waits_for_a_collection(self, module, pending):
        batch = self.batched(pending, 1, 2)
        batch.items[0].observed = 1
        batch.begin(batch.items)
        pending.waiting.discard(batch)
        pending.begun.clear()
        left = [weakref.ref(batch), *map(weakref.ref, batch.items)]
        gc.disable()
        try:
            pending.answer_all(batch)
            del batch
            assert [ref() for ref in left] == [None, None, None]
        finally:
            gc.enable()

    @pytest.mark.parametrize("bad", [1, 2, 3])
    def test_one_that_cannot_be_encoded(self, module, pending, bad):
        batch = self.batched(pending, 1, 2, 3)
        answered = len(module.answers)
        batch.items[bad - 1].value = ...
        pending.answer_all(batch)
        values = [... if id == bad else id for id in (1, 2, 3)]
        assert [answer[:3] for answer in module.answers[answered:]] == [
            (id, 16, value) for id, value in zip((1, 2, 3), values, strict=True)
        ]

    def test_one_that_is_not_as_the_others(self, module, pending):
        batch = self.batched(pending, 1, 2, 3)
        answered = len(module.answers)
        batch.items[1].error = ValueError("mine")
        pending.answer_all(batch)
        kinds = [answer[:2] for answer in module.answers[answered:]]
        assert kinds == [(1, 16), (2, "stderr"), (2, 17), (3, 16)]

    def test_revoked(self, module, pending):
        for item in self.hold(pending, 1, 2):
            pending.prepared(item)
        ((_, _, batch, _),) = self.batch(pending, 9, 1, 2)
        pending.revoke(batch)
        assert [answer[:2] for answer in module.answers[2:]] == [(1, 18), (2, 18)]
        assert not pending.waiting
