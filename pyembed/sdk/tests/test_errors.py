"""Exceptions as text."""

import traceback

import pytest

from cog._worker.errors import describe, traceback_text


class Strange(Exception):
    def __str__(self):
        raise RuntimeError("no")


class Local(ValueError):
    pass


def caught(function):
    try:
        function()
    except BaseException as exc:
        return exc
    raise AssertionError("got no error, want one")


@pytest.mark.parametrize(
    ("exc", "text"),
    [
        (ValueError("the message"), "ValueError: the message"),
        (ValueError(), "ValueError"),
        (ValueError(""), "ValueError"),
        (KeyError("x"), "KeyError: 'x'"),
        (SystemExit(3), "SystemExit: 3"),
        (KeyboardInterrupt(), "KeyboardInterrupt"),
        (ValueError("two\nlines"), "ValueError: two\nlines"),
        (OSError(2, "gone", "/x"), "FileNotFoundError: [Errno 2] gone: '/x'"),
    ],
)
def test_describe(exc, text):
    assert describe(exc) == text
    assert traceback.format_exception_only(type(exc), exc)[-1].rstrip("\n") == text


def test_other_modules_are_named():
    assert describe(Local("x")) == f"{__name__}.Local: x"
    assert describe(Local("x")) == traceback.format_exception_only(Local, Local("x"))[-1].strip()


def test_syntax_error():
    exc = caught(lambda: compile("a b", "f.py", "exec"))
    assert describe(exc) == traceback.format_exception_only(type(exc), exc)[-1].strip()


def test_guesses_of_python_are_shown():
    exc = caught(lambda: {}.itms)
    assert describe(exc).startswith("AttributeError: 'dict' object has no attribute 'itms'")
    assert describe(exc) == traceback.format_exception_only(type(exc), exc)[-1].strip()
    assert describe(AttributeError()) == "AttributeError"


def test_exceptions_that_cannot_be_shown():
    assert describe(Strange()).endswith("Strange: <no message: str() of Strange failed>")
    assert "Strange" in traceback_text(Strange())


def test_lone_surrogates_become_escapes():
    assert describe(ValueError("a\ud800")) == "ValueError: a\\ud800"
    traceback_text(ValueError("a\ud800")).encode()


def test_traceback_has_no_frames_of_the_runtime(model):
    predictor = model(
        """
        from cog import BasePredictor
        class Predictor(BasePredictor):
            def predict(self, x: int) -> int:
                try:
                    self.record_metric("a", 1)
                    raise KeyError("first")
                except KeyError as exc:
                    raise ValueError("second") from exc
        """
    )
    text = traceback_text(caught(lambda: predictor.instance.run(x=1)))
    assert "cog/predictor.py" not in text
    assert text.startswith("Traceback (most recent call last):\n")
    assert "KeyError: 'first'" in text
    assert "direct cause" in text
    assert text.endswith("ValueError: second\n")
    assert "predict.py" in text


def test_traceback_of_an_error_of_ours(model):
    predictor = model(
        """
        from cog import current_scope
        from cog._worker.scope import Scope, within
        def run() -> str:
            within(Scope(), lambda: current_scope().record_metric("!", 1))
        """
    )
    text = traceback_text(caught(predictor.function))
    assert "scope.py" not in text
    assert 'record_metric("!", 1)' in text
    assert "ValueError: metric name segment '!'" in text


def test_traceback_without_frames():
    assert traceback_text(ValueError("x")).endswith("ValueError: x\n")


def test_exception_groups():
    groups = pytest.importorskip("builtins")
    if not hasattr(groups, "ExceptionGroup"):
        pytest.skip("exception groups came with 3.11")
    exc = caught(lambda: (_ for _ in ()).throw(ExceptionGroup("many", [ValueError("a")])))  # noqa: F821
    assert describe(exc) == "ExceptionGroup: many (1 sub-exception)"
    assert "ValueError: a" in traceback_text(exc)


def test_long_chains_end():
    exc = ValueError("0")
    for number in range(300):
        outer = ValueError(str(number))
        outer.__context__ = exc
        exc = outer
    assert "ValueError: 299" in traceback_text(exc)
