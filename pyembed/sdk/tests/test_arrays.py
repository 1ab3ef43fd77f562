"""Outputs that are arrays and numbers of numpy."""

from __future__ import annotations

import pytest

from cog._worker.values.encode import encode
from cog.errors import OutputError

np = pytest.importorskip("numpy")


@pytest.mark.parametrize(
    ("make", "wanted"),
    [
        (lambda: np.float32(1.5), 1.5),
        (lambda: np.float64(1.5), 1.5),
        (lambda: np.longdouble(1.5), 1.5),
        (lambda: np.int64(3), 3),
        (lambda: np.uint64(2**64 - 1), 2**64 - 1),
        (lambda: np.bool_(True), True),
        (lambda: np.str_("x"), "x"),
        (lambda: np.array(3), 3),
        (lambda: np.array([]), []),
        (lambda: np.zeros((2, 0)), [[], []]),
        (lambda: np.arange(6).reshape(2, 3), [[0, 1, 2], [3, 4, 5]]),
        (lambda: np.array([1.5, 2], dtype="float16"), [1.5, 2.0]),
        (lambda: np.array([1.5], dtype="longdouble"), [1.5]),
        (lambda: np.array(["a", "b"]), ["a", "b"]),
        (lambda: np.array([{"a": (1,)}, None], dtype=object), [{"a": [1]}, None]),
        (lambda: np.array(["2020-01-02"], dtype="datetime64[ns]"), ["2020-01-02T00:00:00"]),
        (lambda: np.datetime64("2020-01-02"), "2020-01-02T00:00:00"),
        (lambda: np.ma.array([1, 2], mask=[0, 1]), [1, None]),
        (lambda: {np.int64(1): np.float32(2)}, {"1": 2.0}),
        (lambda: np.array([(1, 2.5)], dtype=[("a", "i4"), ("b", "f8")]), [[1, 2.5]]),
        (lambda: np.array([(1, "x")], dtype=[("a", "i4"), ("b", "U1")])[0], [1, "x"]),
        (lambda: np.array([([1, 2],)], dtype=[("a", "i4", (2,))]), [[[1, 2]]]),
        (lambda: np.rec.array([(1,)], dtype=[("a", "i4")]), [[1]]),
        (lambda: [np.arange(2), (np.int8(1),)], [[0, 1], [1]]),
    ],
)
def test_values(make, wanted):
    found = encode(make())
    assert repr(found) == repr(wanted)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: np.float32("nan"), "output is nan"),
        (lambda: np.array([[1, 2], [3, np.inf]]), "output[1][1] is inf"),
        (lambda: {"x": np.array([np.nan])}, "output.x[0] is nan"),
        (lambda: np.array([1j]), "output is an array of complex128"),
        (lambda: np.array([b"x"]), "output is an array of |S1"),
        (lambda: np.timedelta64(1, "s"), "output is an array of timedelta64[s]"),
        (lambda: np.zeros(1, dtype="V4"), "output is an array of |V4"),
        (lambda: np.array([(1, b"x")], dtype=[("a", "i4"), ("b", "S1")]), "output[0][1] is of"),
        (lambda: np.array([(np.nan,)], dtype=[("a", "f8")]), "output[0][0] is nan"),
        (lambda: np.array([b"x", object()], dtype=object), "output[0] is of type bytes"),
    ],
)
def test_refusals(make, message):
    with pytest.raises(OutputError) as caught:
        encode(make())
    assert str(caught.value).startswith(message)
