"""Metrics and context of a prediction."""

import contextvars
import math
import re
import threading

import pytest

from cog import BaseRunner, current_scope
from cog._worker.scope import Scope, current, within


@pytest.fixture
def scope():
    scope = Scope({"tenant": "a"})
    token = current.set(scope)
    yield scope
    current.reset(token)


def test_current_scope_is_that_of_the_prediction(scope):
    assert current_scope() is scope
    assert BaseRunner().scope is scope
    assert current_scope().context == {"tenant": "a"}


def test_outside_nothing_is_stored():
    outside = current_scope()
    outside.record_metric("a", 1)
    outside.metrics["b"] = object()
    outside.metrics.delete("a")
    del outside.metrics["zzz"]
    assert outside.collected() == {}
    outside.context["x"] = "y"
    assert current_scope().context == {}
    assert repr(outside) == "Scope(MetricRecorder(inactive))"


def test_scopes_nest():
    outer, inner = Scope(), Scope()

    def record(name, value, *, first=None):
        if first is not None:
            first()
        current_scope().record_metric(name, value)

    within(outer, record, "b", 2, first=lambda: within(inner, record, "a", 1))
    assert (outer.collected(), inner.collected()) == ({"b": 2}, {"a": 1})


def test_what_is_set_within_a_scope_does_not_stay():
    variable = contextvars.ContextVar("variable", default=0)
    within(Scope(), variable.set, 1)
    with pytest.raises(ZeroDivisionError):
        within(Scope(), lambda: variable.set(2) and 1 / 0)
    assert variable.get() == 0


def test_a_thread_in_a_copied_context_has_the_scope(scope):
    context = contextvars.copy_context()
    thread = threading.Thread(target=context.run, args=(lambda: current_scope().record_metric("a", 1),))
    thread.start()
    thread.join()
    assert scope.collected() == {"a": 1}


def test_no_context_is_an_empty_one():
    scope = Scope()
    scope.context["a"] = "b"
    assert scope.context == {"a": "b"}


def test_empty_at_first(scope):
    assert scope.collected() == {}
    assert repr(scope) == "Scope(MetricRecorder({}))"


@pytest.mark.parametrize("value", [True, 3, 2**200, 2.5, "x", [1, None], {"a": [1.5]}, [], {}, ""])
def test_values(scope, value):
    scope.metrics["a"] = value
    assert scope.collected() == {"a": value}


@pytest.mark.parametrize("value", [(1,), {1}, b"x", object(), [object()], {"a": (1,)}, 1j])
def test_other_values_are_refused(scope, value):
    with pytest.raises(TypeError, match=r"^(Unsupported|Cannot convert).* metric value"):
        scope.record_metric("a", value)
    assert scope.collected() == {}


def test_dict_keys_must_be_strings(scope):
    with pytest.raises(TypeError, match=r"^'int' object cannot be cast as 'str'$"):
        scope.record_metric("a", {1: 2})


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_not_finite_is_null(scope, value):
    """As with coglet: a value that JSON cannot hold is null, and deletes a metric of its name."""
    events = []
    scope.hook = lambda *event: events.append(event)
    scope.record_metric("gone", 1.5)
    scope.record_metric("gone", value)
    scope.record_metric("inside", [1.0, value, {"x": value}])
    scope.record_metric("list", value, "append")
    scope.record_metric("list", 2.5, "append")
    scope.record_metric("sum", value, "incr")
    scope.record_metric("sum", 1.5, "incr")
    scope.record_metric("sum", value, "incr")
    inside = [1.0, None, {"x": None}]
    assert scope.collected() == {"inside": inside, "list": [None, 2.5], "sum": 1.5}
    assert events == [
        ("gone", 1.5, "replace"), ("gone", None, "replace"),
        ("inside", inside, "replace"),
        ("list", None, "append"), ("list", 2.5, "append"),
        ("sum", None, "increment"), ("sum", 1.5, "increment"), ("sum", None, "increment"),
    ]  # fmt: skip
    with pytest.raises(TypeError, match=r"^Metric 'gone' has type float, cannot set to str"):
        scope.record_metric("gone", "text")
    del scope.metrics["gone"]
    scope.record_metric("gone", "text")


def test_a_sum_out_of_range_is_null(scope):
    for value in (1e308, 1e308, -1e308):
        scope.record_metric("a", value, "incr")
    assert scope.collected() == {"a": None}


def test_a_recorded_value_is_a_snapshot(scope):
    value = {"x": [1]}
    scope.record_metric("a", value)
    value["x"].append(2)
    assert scope.collected() == {"a": {"x": [1]}}


def test_subclasses_become_plain(scope):
    class Number(int):
        pass

    class Text(str):
        __slots__ = ()

    scope.record_metric("a", Number(3))
    scope.record_metric("b", [Text("t")])
    assert type(scope.collected()["a"]) is int
    assert type(scope.collected()["b"][0]) is str


@pytest.mark.parametrize("wrong", [2.5, "x", True, [1], {}])
def test_a_type_is_fixed_until_deleted(scope, wrong):
    scope.record_metric("a", 1)
    text = f"Metric 'a' has type int, cannot set to {type(wrong).__name__} without deleting first"
    with pytest.raises(TypeError, match=f"^{text}$"):
        scope.record_metric("a", wrong)
    del scope.metrics["a"]
    scope.record_metric("a", wrong)
    assert scope.collected() == {"a": wrong}


def test_none_deletes(scope):
    scope.record_metric("a", 1)
    scope.record_metric("a", None)
    assert scope.collected() == {}
    scope.metrics["a"] = "x"
    scope.metrics["a"] = None
    scope.record_metric("never", None)
    assert scope.collected() == {}


def test_incr(scope):
    scope.record_metric("n", 2, "incr")
    scope.record_metric("n", 3, mode="incr")
    scope.metrics.record("f", 0.5, "increment")
    assert scope.collected() == {"n": 5, "f": 0.5}
    with pytest.raises(TypeError, match="type int, cannot set to float"):
        scope.record_metric("n", 0.5, "incr")
    for wrong in ("x", [1], True):
        text = f"^Increment mode requires int or float, got {type(wrong).__name__}$"
        with pytest.raises(TypeError, match=text):
            scope.record_metric("z", wrong, "incr")


def test_append(scope):
    scope.record_metric("a", "x", "append")
    scope.record_metric("a", "y", "append")
    scope.record_metric("b", 1)
    scope.record_metric("b", 2, "append")
    scope.record_metric("c", [1], "append")
    scope.record_metric("c", [2, 3], "append")
    scope.record_metric("d", [1])
    scope.record_metric("d", [], "append")
    assert scope.collected() == {
        "a": ["x", "y"], "b": [1, 2], "c": [[1], [2, 3]], "d": [1, []],
    }  # fmt: skip
    with pytest.raises(TypeError, match="Metric 'a' has type str, cannot set to int"):
        scope.record_metric("a", 1, "append")
    with pytest.raises(TypeError, match="holds a list"):
        scope.record_metric("b", 1, "incr")


def test_append_leaves_the_recorded_list_alone(scope):
    first = [1]
    scope.record_metric("a", first)
    scope.record_metric("a", [2], "append")
    assert first == [1]


@pytest.mark.parametrize("mode", ["foo", "INCR", ""])
def test_modes(scope, mode):
    text = f"^Invalid metric mode: '{mode}'. Expected 'replace', 'incr', or 'append'.$"
    with pytest.raises(TypeError, match=text):
        scope.record_metric("a", 1, mode)


def test_modes_are_strings(scope):
    text = "^argument 'mode': 'int' object cannot be cast as 'str'$"
    with pytest.raises(TypeError, match=text):
        scope.record_metric("a", 1, 3)


UNSUPPORTED = "Unsupported metric value type: tuple. Expected bool, int, float, str, list, or dict."


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ((1,), UNSUPPORTED),
        ([(1,)], "Cannot convert tuple to JSON metric value"),
        ({"a": {1: 2}}, "'int' object cannot be cast as 'str'"),
    ],
)
def test_values_in_the_words_of_cog(scope, value, text):
    with pytest.raises(TypeError) as raised:
        scope.record_metric("a", value)
    assert str(raised.value) == text


def test_mode_none_is_replace(scope):
    scope.record_metric("a", 1, None)
    assert scope.collected() == {"a": 1}


@pytest.mark.parametrize("name", ["a", "A1", "a_b", "a_1", "a.b.c.d", "x" * 128, "cog", "predict_time_2", "a.cog.b"])
def test_names(scope, name):
    scope.record_metric(name, 1)


@pytest.mark.parametrize(
    ("name", "text"),  # of Cog 0.23.1, word by word
    [
        ("", "metric name must not be empty"),
        ("1a", "metric name segment '1a' must start with a letter"),
        ("_-", "metric name segment '_-' must start with a letter"),
        ("ä", "metric name segment 'ä' must start with a letter"),
        ("aä", "metric name segment 'aä' contains invalid character 'ä'"),
        ("a_", "metric name segment 'a_' must end with a letter or digit"),
        ("a_-", "metric name segment 'a_-' contains invalid character '-'"),
        ("a__-b", "metric name segment 'a__-b' must not contain consecutive underscores"),
        ("a.b-.c_", "metric name segment 'b-' contains invalid character '-'"),
        (".a", "metric name must not start with a dot"),
        ("..", "metric name must not start with a dot"),
        ("a.", "metric name must not end with a dot"),
        ("a..", "metric name must not contain empty segments (consecutive dots)"),
        ("a..b", "metric name must not contain empty segments (consecutive dots)"),
        ("a.b.c.d.", "metric name must have at most 4 dot-separated segments (got 5)"),
        ("x" * 129, "metric name must be 128 characters or fewer (got 129 characters)"),
        ("ä" * 100, "metric name must be 128 characters or fewer (got 200 characters)"),
        ("predict_time", "'predict_time' is reserved by the runtime"),
        ("cog.a-b", "the 'cog.' prefix is reserved for system metrics"),
    ],
)
def test_bad_names(scope, name, text):
    with pytest.raises(ValueError, match=re.escape(text)) as raised:
        scope.record_metric(name, 1)
    assert str(raised.value) == text
    assert scope.collected() == {}


def test_deleting_a_bad_name(scope):
    scope.record_metric("a", 1)
    with pytest.raises(ValueError, match=r"^metric name segment 'a-b' contains invalid"):
        scope.metrics.delete("a-b")
    scope.metrics.delete("predict_time")


def test_names_are_strings(scope):
    with pytest.raises(TypeError, match=r"^argument 'key': 'int' object cannot be cast as 'str'$"):
        scope.record_metric(1, 2)


def test_dots_nest(scope):
    scope.record_metric("timing.load", 1)
    scope.record_metric("timing.run.first", 2)
    scope.record_metric("plain", 3)
    assert scope.collected() == {"timing": {"load": 1, "run": {"first": 2}}, "plain": 3}


def test_where_names_clash_the_later_wins(scope):
    scope.record_metric("a.b", 1)
    scope.record_metric("a", 2)
    assert scope.collected() == {"a": 2}
    scope.record_metric("a.b", 3)
    assert scope.collected() == {"a": {"b": 3}}


def test_nesting_into_a_recorded_dict_does_not_change_it(scope):
    scope.record_metric("a", {"x": 1})
    scope.record_metric("a.b", 2)
    assert scope.collected() == {"a": {"x": 1, "b": 2}}
    assert scope.collected() == {"a": {"x": 1, "b": 2}}
    scope.record_metric("a.b", None)
    assert scope.collected() == {"a": {"x": 1}}


def test_deleting_takes_what_is_below(scope):
    scope.record_metric("a.b", 1)
    scope.record_metric("ab", 2)
    scope.metrics.delete("a")
    assert scope.collected() == {"ab": 2}
    scope.record_metric("a.b", "now a str")


def test_the_hook_sees_changes_as_they_happen(scope):
    seen = []
    scope.hook = lambda *change: seen.append(change)
    scope.record_metric("a", 1)
    scope.record_metric("a", 2, "incr")
    scope.record_metric("b", "x", "append")
    scope.metrics["a"] = None
    scope.metrics.delete("never")
    with pytest.raises(ValueError, match="empty"):
        scope.record_metric("", 1)
    assert seen == [("a", 1, "replace"), ("a", 2, "increment"), ("b", "x", "append"), ("a", None, "replace")]
