"""What goes into a batched function, what comes out of it, and what its errors mean."""

from __future__ import annotations

import gc
import importlib
import sys
import types
import weakref

import pytest

from cog.errors import OutputError


@pytest.fixture
def rides(monkeypatch):
    """Return the module, with a worker's C half that keeps what is answered."""
    answers = []
    worker = types.ModuleType("_px")
    worker.reply_item = lambda slot, id, kind, value, nanos, metrics, encode, fail: answers.append(
        (id, kind, value, metrics)
    )

    def reply_riders(slot, ids, values, nanos, metrics, encode):
        good = next((i for i, value in enumerate(values) if value is Ellipsis), len(values))
        answers.extend(
            (id, 16, value, metrics) for id, value in zip(ids[:good], values, strict=False)
        )
        return good

    worker.reply_riders = reply_riders
    worker.log = lambda slot, id, source, text: answers.append((id, source, text))
    worker.watch = lambda ride: None
    worker.tell_item = lambda slot, id, kind, value: answers.append((id, kind))
    worker.flush = lambda slot: None
    worker.prepared = lambda slot, id: answers.append((id, "prepared"))
    monkeypatch.setitem(sys.modules, "_px", worker)
    ours = ("rides", "held", "sync")
    for name in ours:
        monkeypatch.delitem(sys.modules, f"cog._worker.{name}", raising=False)
    rides = importlib.import_module("cog._worker.rides")
    rides.held, rides.answers = importlib.import_module("cog._worker.held"), answers
    yield rides
    for name in ours:
        sys.modules.pop(f"cog._worker.{name}", None)


@pytest.fixture
def function(rides, model):
    """Return a function that makes a Function of a model's source."""

    def make(parameters="n: list[int], k: int = 1", options="max_size=8", lost=(), more=""):
        predictor = model(
            "from cog import *\nfrom cog import batch\n"
            f"class Runner:\n    @batch({options})\n"
            f"    def run(self, {parameters}): return n\n{more}"
        )
        return rides.Function(predictor.plan, predictor.function, lost)

    return make


def items(rides, *inputs):
    return [rides.Item(0, 64 + i, 8, {"input": given}, None) for i, given in enumerate(inputs)]


class TestArguments:
    def test_lists_and_keys(self, rides, function):
        run = function("n: list[int], m: list[float], k: int = 1")
        riders = run.riders(items(rides, {"n": 1, "m": 2, "k": 3}, {"n": 4, "m": 5, "k": 3}))
        arguments = run.arguments(riders)
        assert arguments == {"n": [1, 4], "m": [2.0, 5.0], "k": 3}
        assert [type(x) for x in arguments["m"]] == [float, float]

    def test_a_key_that_is_absent_is_left_to_the_call(self, rides, function):
        run = function()
        assert run.arguments(run.riders(items(rides, {"n": 1}, {"n": 2}))) == {"n": [1, 2]}

    def test_parts_have_equal_keys(self, rides, function):
        run = function()
        riders = run.riders(items(rides, {"n": 1}, {"n": 2, "k": 1}, {"n": 3, "k": 2}, {"n": 4}))
        parts = run.parts(riders)
        assert [[r.inputs["n"] for r in part] for part in reversed(parts)] == [[1, 2, 4], [3]]

    def test_items_that_cannot_ride(self, rides, function):
        run = function()
        good, bad, unread, dropped = all_of = items(rides, {"n": 1}, {}, {}, {"n": 2})
        unread.error = ValueError("no JSON")
        dropped.dropped = True
        assert run.riders(all_of) == [good]
        assert isinstance(bad.error, TypeError)
        assert str(unread.error) == "no JSON"


class Array:
    def __init__(self, *content):
        self.content = content

    def __len__(self):
        return len(self.content)

    def __getitem__(self, i):
        return self.content[i]


class TestResults:
    @pytest.mark.parametrize("result", [[5, 6], (5, 6), Array(5, 6)])
    def test_taken(self, rides, function, result):
        part = items(rides, {}, {})
        function().take(part, result)
        assert [item.value for item in part] == [5, 6]

    def test_numpy(self, rides, function):
        numpy = pytest.importorskip("numpy")
        part = items(rides, {}, {})
        function().take(part, numpy.arange(4).reshape(2, 2))
        assert [item.value.tolist() for item in part] == [[0, 1], [2, 3]]
        with pytest.raises(OutputError, match="no length"):
            function().take(part, numpy.array(3))

    @pytest.mark.parametrize(
        ("result", "message"),
        [
            ([1], "output has 1 elements for a batch of 2"),
            ((1, 2, 3), "output has 3 elements for a batch of 2"),
            (Array(1), "output has 1 elements for a batch of 2"),
            (None, "output is None; .* returns a list of 2"),
            ("ab", "output is a str"),
            ({0: 1, 1: 2}, "output is a dict"),
            (iter([1, 2]), "output is a list_iterator"),
            (3, "output is a int"),
        ],
    )
    def test_refused(self, rides, function, result, message):
        with pytest.raises(OutputError, match=message):
            function().take(items(rides, {}, {}), result)

    def test_an_exception_is_of_its_item_alone(self, rides, function):
        part = items(rides, {}, {})
        function().take(part, [ValueError("no"), 1])
        assert str(part[0].error) == "no"
        assert part[1].is_fine()


class TestErrors:
    def carry_out(self, rides, function, count, bad, error=None):
        """Run a ride in which some items raise; return the sizes of its runs, and the ride."""
        ride = rides.Ride(1, items(rides, *({} for _ in range(count))))
        parts, sizes = [list(ride.items)], []
        while parts:
            part = parts.pop()
            sizes.append(len(part))
            if any(item.id - 64 in bad for item in part):
                parts = function.refuse(ride, part, parts, error or ValueError("bad"))
            else:
                function.take(part, [item.id for item in part])
        return sizes, ride

    @pytest.mark.parametrize("count", range(1, 18))
    def test_every_single_bad_item_is_found(self, rides, function, count):
        run = function()
        for bad in range(count):
            sizes, ride = self.carry_out(rides, run, count, {bad})
            fine = [item.id - 64 for item in ride.items if item.is_fine()]
            assert fine == [i for i in range(count) if i != bad]
            assert all(item.value == item.id for item in ride.items if item.is_fine())
            assert len(sizes) <= 1 + 2 * (count - 1).bit_length()
            assert ride.failed

    def test_several_and_all(self, rides, function):
        run = function()
        _, ride = self.carry_out(rides, run, 8, {1, 6})
        assert [item.is_fine() for item in ride.items].count(False) == 2
        sizes, ride = self.carry_out(rides, run, 4, range(4))
        assert sizes == [4, 2, 1, 1, 2, 1, 1]
        assert not any(item.is_fine() for item in ride.items)

    @pytest.mark.parametrize(
        ("options", "error"),
        [
            ("max_size=8, isolate=False", ValueError("x")),
            ("max_size=8", OutputError("two numbers")),
            ("max_size=8", SystemExit(1)),
            ("max_size=8", RuntimeError("CUDA error: gone")),
        ],
    )
    def test_not_run_again(self, rides, function, options, error, capsys):
        run = function(options=options, lost=("CUDA error",))
        sizes, ride = self.carry_out(rides, run, 4, {2}, error)
        assert sizes == [4]
        assert len({item.text for item in ride.items}) == 1
        assert str(error) in ride.items[0].text
        assert capsys.readouterr().err.count(type(error).__name__) == 1

    def test_a_gpu_that_is_lost_on_the_way(self, rides, function):
        run = function(lost=("gone",))
        ride = rides.Ride(1, items(rides, *({} for _ in range(8))))
        first, second = ride.items[:4], ride.items[4:]
        assert run.refuse(ride, first, [second], RuntimeError("gone")) == []
        assert {item.text for item in ride.items} == {"RuntimeError: gone"}

    def test_the_last_one_has_its_own_traceback(self, rides, function):
        (item,) = items(rides, {})
        ride = rides.Ride(1, [item, item])
        assert function().refuse(ride, [item], [], ValueError("mine")) == []
        item.answer(5, None)
        log, answer = rides.answers
        assert log[:2] == (item.id, "stderr")
        assert "ValueError: mine" in log[2]
        assert answer == (item.id, 17, "ValueError: mine", None)


class TestHeld:
    @pytest.fixture
    def held(self, rides):
        begun, ready = [], []
        held = rides.held.Held(0, lambda held, item: begun.append(item), ready.append)
        held.begun, held.ready = begun, ready
        return held

    def hold(self, held, *ids):
        held.sort([(1, id, 8, {"input": {}}, None) for id in ids])
        return held.begun[-len(ids) :]

    def ride(self, held, id, *ids):
        return held.sort([(2, id, 0, {"ids": list(ids)}, None)])

    def test_a_ride_waits_for_all(self, rides, held):
        one, two = self.hold(held, 1, 2)
        assert self.ride(held, 9, 1, 2) == []
        assert not held.prepared(two)
        assert (held.ready, rides.answers, len(held.rides)) == ([], [], 1)
        assert not held.prepared(one)
        assert [r.id for r in held.ready] == [9]

    def test_prepared_is_told_once(self, rides, held):
        (one,) = self.hold(held, 1)
        assert not held.prepared(one)
        assert rides.answers == [(1, "prepared")]
        ((id, _, ride, _),) = self.ride(held, 9, 1)
        assert (id, ride.items) == (9, [one])

    def test_one_that_failed_is_answered_once(self, rides, held):
        one, two = self.hold(held, 1, 2)
        one.error = ValueError()
        assert held.prepared(one)
        held.prepared(two)
        held.sort([(3, 0, 0, {"ids": [1]}, None)])
        assert rides.answers == [(2, "prepared")]
        ((_, _, ride, _),) = self.ride(held, 9, 1, 2)
        assert ride.items == [two]

    def test_drop(self, rides, held):
        one, two = self.hold(held, 1, 2)
        held.sort([(3, 0, 0, {"ids": [1, 77]}, None)])
        assert rides.answers == [(1, 18, None, None)]
        assert not held.prepared(one)
        held.prepared(two)
        ((_, _, ride, _),) = self.ride(held, 9, 1, 2)
        held.sort([(3, 0, 0, {"ids": [2]}, None)])
        assert len(rides.answers) == 2, "its turn has not come"
        held.answer(two, 3, ride.metrics())
        assert rides.answers[-1][:2] == (2, 18)
        held.sort([(3, 0, 0, {"ids": [2]}, None)])
        assert len(rides.answers) == 3

    def boarded(self, held, *ids):
        """Return the ride of those, when the function has returned each one's id."""
        for item in self.hold(held, *ids):
            held.prepared(item)
        ((_, _, ride, _),) = self.ride(held, 9, *ids)
        for item in ride.items:
            item.value = item.id
        ride.size = len(ids)
        return ride

    def test_answers_of_a_ride(self, rides, held):
        ride = self.boarded(held, 1, 2, 3)
        told = len(rides.answers)
        held.answer_all(ride)
        assert rides.answers[told:] == [(id, 16, id, {"batch_size": 3}) for id in (1, 2, 3)]
        held.sort([(3, 0, 0, {"ids": [1, 2, 3]}, None)])
        assert len(rides.answers) == told + 3, "they are forgotten"

    def test_nothing_of_a_ride_waits_for_a_collection(self, rides, held):
        ride = self.boarded(held, 1, 2)
        ride.items[0].told = 1
        ride.begin(ride.items)
        held.rides.discard(ride)
        held.begun.clear()
        left = [weakref.ref(ride), *map(weakref.ref, ride.items)]
        gc.disable()
        try:
            held.answer_all(ride)
            del ride
            assert [ref() for ref in left] == [None, None, None]
        finally:
            gc.enable()

    @pytest.mark.parametrize("bad", [1, 2, 3])
    def test_one_that_cannot_be_encoded(self, rides, held, bad):
        ride = self.boarded(held, 1, 2, 3)
        told = len(rides.answers)
        ride.items[bad - 1].value = ...
        held.answer_all(ride)
        values = [... if id == bad else id for id in (1, 2, 3)]
        assert [answer[:3] for answer in rides.answers[told:]] == [
            (id, 16, value) for id, value in zip((1, 2, 3), values, strict=True)
        ]

    def test_one_that_is_not_as_the_others(self, rides, held):
        ride = self.boarded(held, 1, 2, 3)
        told = len(rides.answers)
        ride.items[1].error = ValueError("mine")
        held.answer_all(ride)
        kinds = [answer[:2] for answer in rides.answers[told:]]
        assert kinds == [(1, 16), (2, "stderr"), (2, 17), (3, 16)]

    def test_taken_back(self, rides, held):
        for item in self.hold(held, 1, 2):
            held.prepared(item)
        ((_, _, ride, _),) = self.ride(held, 9, 1, 2)
        held.give_back(ride)
        assert [answer[:2] for answer in rides.answers[2:]] == [(1, 18), (2, 18)]
        assert not held.rides
