"""Values and fallbacks that the tables of the tests name, and the checks of one case.

A check is called from Go (jsontest.go) with bytes and gives bytes: a complaint, or nothing.
"""

import collections
import enum
import functools
import json
import math  # noqa: F401  the tables' expressions use it
import sys  # noqa: F401

import _pxjson
from jsontest_model import counted, model_dumps, no_limit, same  # noqa: F401


class Str(str):
    def __str__(self):
        raise AssertionError("__str__ called")


class Int(int):
    def __repr__(self):
        raise AssertionError("__repr__ called")

    __str__ = __index__ = __int__ = __repr__


class Float(float):
    def __repr__(self):
        raise AssertionError("__repr__ called")

    __str__ = __float__ = __repr__


class Dict(dict):
    pass


class List(list):
    pass


class Items(dict):
    def items(self):
        return [("k", 1), ("l", 2)]


class BadItems(dict):
    def items(self):
        return ["ab"]


class RaisingItems(dict):
    def items(self):
        raise KeyError("items")


class Plain:
    pass


class Color(enum.Enum):
    RED = "red"


class Number(enum.IntEnum):
    ONE = 1


class Word(str, enum.Enum):
    YES = "yes"


Point = collections.namedtuple("Point", "x y")


def value_of(o):
    """A fallback for enums and sets."""
    if isinstance(o, enum.Enum):
        return ["enum", o.value]
    if isinstance(o, (set, frozenset)):
        return sorted(o)
    return NotImplemented


def nest(levels, leaf=None):
    """leaf in so many lists."""
    for _ in range(levels):
        leaf = [leaf]
    return leaf


def nest_dicts(levels):
    o = {}
    for _ in range(levels - 1):
        o = {"a": o}
    return o


def cyclic_list():
    a = []
    a.append(a)
    return a


@functools.cache  # CPython 3.14t keeps a block of memory of each
def cyclic_dict():
    a = {}
    a["self"] = a
    return a


def moved():
    o = collections.OrderedDict(a=1, b=2)
    o.move_to_end("a")
    return o


def raising(o):
    raise LookupError("from fallback")


def ever_new(o):
    return Plain()


def clearing(make):
    """A value and a fallback that empties it while it is written."""
    target = make()

    def fallback(o):
        target.clear()
        fresh = [bytes(100) for _ in range(50)]  # reuse what was freed
        return len(fresh)

    return target, fallback


def growing(make, add):
    target = make()

    def fallback(o):
        for i in range(100):
            add(target, i)
        return "grown"

    return target, fallback


def dict_target():
    return {"a": Plain(), "b": {"c": Plain(), "d": [Plain(), str(12345)]}, str(67890) * 3: str(99999)}


def list_target():
    return [Plain(), [Plain(), str(12345)], str(67890)]


def nested_clearing():
    inner = {"x" * 5: Plain(), "y" * 5: "z" * 50}
    target = {"inner": inner, "after" * 3: "w" * 50}

    def fallback(o):
        target.clear()
        inner.clear()
        return 0

    return target, fallback


class Emptying(dict):
    def items(self):
        self.target.clear()
        return []


def key_clearing():
    """A dict that is emptied by the items() of a dict in it, with keys that are not str."""
    target = {10**40: Emptying(), 2.5: str(123) * 9, None: "n"}
    target[10**40].target = target
    return target, None


def check_load(data):
    """{"text": hex, "want": expression, "error": text}."""
    case = json.loads(data)
    text = bytes.fromhex(case["text"])
    value, error = counted(lambda: _pxjson.loads(text))
    if case["error"]:
        if error is None:
            return f"read as {value!r:.200}".encode()
        if type(error) is not ValueError or str(error) != case["error"]:
            return f"{type(error).__name__}: {error}".encode()
        return b""
    if error is not None:
        return f"{type(error).__name__}: {error}".encode()
    with no_limit():
        want = eval(case["want"])
    if not same(value, want):
        return f"{value!r:.200}".encode()
    return b""


def check_cut(text):
    value, error = counted(lambda: _pxjson.loads(text))
    return b"" if type(error) is ValueError else f"{text!r}: {error or value!r}".encode()


def check_dump(data):
    """{"value", "fallback": expressions, "want": text, "want_expr": expression, "error": "Type: text", "pair"}."""
    case = json.loads(data)
    # Made anew for each call: a reference too many to a lasting object could not be seen.
    make = compile(case["value"], "value", "eval")
    fallback = eval(case["fallback"] or "None")

    def run():
        value = eval(make)
        if case["pair"]:
            return _pxjson.dumps(*value, b"before")
        return _pxjson.dumps(value, fallback, b"before")

    text, error = counted(run)
    if case["error"]:
        if error is None:
            return b"written as " + text[:200]
        got = f"{type(error).__name__}: {error}"
        return b"" if got == case["error"] else got.encode()
    if error is not None:
        return f"{type(error).__name__}: {error}".encode()
    if not text.startswith(b"before"):
        return b"the buffer's text is gone"
    with no_limit():
        want = eval(case["want_expr"]) if case["want_expr"] else case["want"]
    return b"" if text[6:].decode() == want else text[6:206]
