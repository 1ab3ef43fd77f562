"""What px_json_loads_arrays makes an array, judged by the module struct, and what it leaves alone."""

import json
import random
import struct

import _pxjson

RANGES = {
    "b": (-(2**7), 2**7 - 1),
    "B": (0, 2**8 - 1),
    "h": (-(2**15), 2**15 - 1),
    "H": (0, 2**16 - 1),
    "i": (-(2**31), 2**31 - 1),
    "I": (0, 2**32 - 1),
    "q": (-(10**18) + 1, 10**18 - 1),  # of 18 digits, beyond which they are left to Python
}
CODES = [*RANGES, "f", "d"]


def request(text):
    return b'{"input":{"x":' + text + b"}}"


def read(text, code):
    """The value of x, or the error's text."""
    try:
        return _pxjson.loads_arrays(request(text), code)["input"]["x"]
    except ValueError as error:
        return str(error)


def plain(text):
    """The same where nothing is an array."""
    try:
        return _pxjson.loads(request(text))["input"]["x"]
    except ValueError as error:
        return str(error)


def number(rng, code):
    """Text of a number that the code has, and its value."""
    if code in RANGES:
        least, most = RANGES[code]
        value = rng.choice((least, most, 0, rng.randint(least, most), rng.randint(max(least, -9), min(most, 9))))
        return str(value), value
    value = rng.choice((rng.random(), rng.uniform(-1e30, 1e30), rng.randint(-(10**17), 10**17), 0.5, 0, -0.0, 1e-30, 3.4e38))
    text = repr(value) if rng.random() < 0.8 else f"{value:.{rng.randint(0, 20)}e}"
    return text, float(text)


def nested(rng, shape, code, numbers):
    space = rng.choice(("", "", " ", "\n\t "))
    if not shape:
        text, value = number(rng, code)
        numbers.append(value)
        return space + text + space
    return space + "[" + space + ",".join(nested(rng, shape[1:], code, numbers) for _ in range(shape[0])) + "]" + space


def arrays(data):
    """Lists of any depth and length are what struct makes of their numbers."""
    told = json.loads(data)
    rng = random.Random(told["seed"])
    for _ in range(told["count"]):
        code = rng.choice(CODES)
        shape = tuple(rng.choice((1, 1, 2, 3, 5, rng.randint(1, 40))) for _ in range(rng.choice((1, 1, 1, 2, 3, 4))))
        if rng.random() < 0.1:
            shape = (*shape[:-1], 0)
        if rng.random() < 0.01:
            shape = (rng.randint(3000, 9000),)  # the memory grows
        numbers = []
        text = nested(rng, shape, code, numbers).encode()
        value = read(text, code)
        want = (struct.pack(f"={len(numbers)}{code}", *numbers), shape)
        if type(value) is not tuple or type(value[0]) is not bytearray or (bytes(value[0]), value[1]) != want:
            return f"{code} {shape}: {text[:300]!r} is {str(value)[:300]}".encode()
        if len(text) < 200:
            for n in range(len(text)):  # cut anywhere: the error is that of lists
                cut = b'{"input":{"x":' + text[:n]
                try:
                    _pxjson.loads_arrays(cut, code)
                    return f"no error for {cut!r}".encode()
                except ValueError as error:
                    try:
                        _pxjson.loads(cut)
                    except ValueError as same:
                        if str(same) != str(error):
                            return f"{cut!r}: {error}, not {same}".encode()
    return b""


def no_arrays(data):
    """A value that is not an array of that type is read as if no array had been asked for, with or without an error."""
    deep = b"[" * 33 + b"1" + b"]" * 33
    texts = [
        *(b"1", b"null", b'"x"', b"{}", b"true", b"[null]", b"[true]", b'["1"]', b"[{}]", b"[1, []]", b"[[], 1]"),
        *(b"[[1], [2, 3]]", b"[[], [1]]", b"[[1], []]", b"[[1], 2]", b"[[[1]], [2]]", b"[[1], [[2]]]", deep),
        *(b"[12345678901234567890]", b"[1,]", b"[,1]", b"[1 2]", b"[01]", b"[1", b"[-]", b"[1.]", b"[NaN]", b"[Infinity]"),
        *(b"[1e999]", b"[1", b"[[1]", b"[[1],", b"[1]]", b"[1}", b"[1.5e]", b"[+1]", b"[.5]"),
    ]
    cases = [(code, text) for code in CODES for text in texts]
    for code, (least, most) in RANGES.items():
        if code != "q":
            cases += [(code, b"[%d]" % (least - 1)), (code, b"[0, %d]" % (most + 1))]
        cases += [(code, b"[1.0]"), (code, b"[1e2]"), (code, b"[0.5]")]
    cases += [("f", b"[3.5e38]"), ("f", b"[-1, -1e300]"), ("f", b"[340282366920938463463374607431768211456]")]
    for code, text in cases:
        got, want = read(text, code), plain(text)
        if (got, repr(got)) != (want, repr(want)):
            return f"{code}: {text!r} is {got!r}, not {want!r}".encode()
    return b""


def places(data):
    """Only that member of that object is one; of members that come twice the last counts."""
    whole = (bytearray(struct.pack("=2d", 1, 2)), (2,))
    cases = {
        b'{"x": [1, 2], "input": {"y": [1, 2], "z": {"x": [1, 2]}}}': None,
        b'{"input": [{"x": [1, 2]}]}': None,
        b'{"context": {"x": [1, 2]}, "input": {"y": {"input": {"x": [1, 2]}}}}': None,
        b'[{"input": {"x": [1, 2]}}]': None,
        b'{"a": {"input": {"x": [1, 2]}}}': None,
        b'{"input": {"x": [1, 2]}, "context": {"x": [1, 2]}}': {"input": {"x": whole}, "context": {"x": [1, 2]}},
        b'{"input": {"x": 1, "x": [1, 2]}}': {"input": {"x": whole}},
        b'{"input": {"\\u0078": [1, 2], "x y": [1]}}': {"input": {"x": whole, "x y": [1]}},
    }
    for text, want in cases.items():
        got = _pxjson.loads_arrays(text, "d")
        if want is None:
            want = json.loads(text)
        if got != want:
            return f"{text!r} is {got!r}".encode()
    return b""
