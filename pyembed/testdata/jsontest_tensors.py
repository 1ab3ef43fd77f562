"""Tensors in binary, there and back."""

import array
import math
import random

import _pxjson

SHAPES = [(0,), (1,), (2, 3), (4, 0, 2), (1,) * 64, (700, 30)]


class Owner:
    """Something with elements in memory."""

    def __init__(self, code, shape):
        count = 1
        for length in shape:
            count *= length
        self.shape = shape
        self.elements = array.array(code, [random.Random(1).randint(0, 100) for _ in range(count)])


def fallback(value):
    address, count = value.elements.buffer_info()
    size = count * value.elements.itemsize
    return (value, address, size, value.shape, value.elements.typecode)


def tensors(data):
    """What is written is what is read; what is cut off or wrong is an error."""
    before = _pxjson.live()
    for shape in SHAPES:
        for code in "bBhHiIqfd":
            owner = Owner(code, shape)
            text = _pxjson.dumps({"input": {"x": owner, "y": [owner]}}, fallback)
            want = (bytearray(owner.elements.tobytes()), shape, code)
            got = _pxjson.loads_arrays(text, "d")
            assert got == {"input": {"x": want, "y": [want]}}, (shape, code, got)
            assert b"".join(_pxjson.borrow({"input": {"x": owner, "y": [owner]}}, fallback)) == text
    number = Owner("d", ())
    number.elements[0] = -math.inf
    text = _pxjson.dumps({"input": {"x": [number]}}, fallback)
    assert _pxjson.loads_arrays(text, "d") == {"input": {"x": [-math.inf]}}
    text = _pxjson.dumps({"input": {"x": Owner("h", (2, 3))}}, fallback)
    for n in range(len(text)):
        refused(_pxjson.loads_arrays, text[:n], "d")
    for n in range(len(text)):
        for byte in (0, 1, 65, 255):
            refused(_pxjson.loads_arrays, text[:n] + bytes([byte]) + text[n + 1 :], "d", may_pass=True)
    refused(_pxjson.loads, text)
    for wrong in ((), (1, 2), (1, 0, 0, [1], "d"), (1, 0, 0, (-1,), "d"), (1, 0, 0, ("a",), "d")):
        refused(_pxjson.dumps, object(), lambda value, wrong=wrong: wrong)
    assert _pxjson.live() == before, "memory is left"
    return b""


def refused(call, *args, may_pass=False):
    try:
        call(*args)
    except (ValueError, TypeError, OverflowError, SystemError) as error:
        assert type(error) is not SystemError or "bad argument" in str(error), error
    else:
        assert may_pass, args
