"""What the JSON bridge should do, by Python's json, and how its memory is counted."""

import contextlib
import gc
import json
import math
import sys

import _pxjson

sys.setrecursionlimit(10_000)  # for same(), on the deepest values

MAX_DEPTH = 500
MAX_DIGITS = 100_000


# ---- counting -----------------------------------------------------------------


def outcome(run):
    """(value, None) or (None, exception) of run()."""
    try:
        return run(), None
    except Exception as e:
        return None, e.with_traceback(None)


def counted(run):
    """outcome(run), after seeing that no C memory and no object stays behind."""
    live = _pxjson.live()
    result = outcome(run)
    if _pxjson.live() != live:
        raise AssertionError(f"{_pxjson.live() - live} blocks of C memory left")
    # Caches and free lists of Python's own grow as well, but not each time.
    for _ in range(10):
        before = python_memory()
        for _ in range(20):
            outcome(run)
        left = [b - a for a, b in zip(before, python_memory())]
        if all(-10 < n < 10 for n in left):
            return result
    raise AssertionError(f"20 calls left blocks of Python's memory, or references to None, True, False: {left}")


def python_memory():
    gc.collect()
    # Until 3.12 made them immortal, the constants are counted as other objects are.
    return [sys.getallocatedblocks(), *(sys.getrefcount(o) for o in (None, True, False))]


# ---- a model of what the bridge reads and writes --------------------------------


@contextlib.contextmanager
def no_limit():
    """Python's own int and str conversions without their limit; the bridge must not need this."""
    if not hasattr(sys, "set_int_max_str_digits"):
        yield
        return
    limit = sys.get_int_max_str_digits()
    sys.set_int_max_str_digits(0)
    try:
        yield
    finally:
        sys.set_int_max_str_digits(limit)


def depth(text):
    """How deep the brackets of a JSON text are nested."""
    deepest = now = 0
    in_string = escaped = False
    for c in text:
        if in_string:
            if escaped:
                escaped = False
            elif c == "\\":
                escaped = True
            elif c == '"':
                in_string = False
        elif c == '"':
            in_string = True
        elif c in "[{":
            now += 1
            deepest = max(deepest, now)
        elif c in "]}":
            now -= 1
    return deepest


def refuse_surrogates(value):
    if isinstance(value, str):
        value.encode()
    elif isinstance(value, list):
        for v in value:
            refuse_surrogates(v)


def pairs_hook(pairs):
    for key, value in pairs:  # also those that a later duplicate hides
        refuse_surrogates(key)
        refuse_surrogates(value)
    return dict(pairs)


def constant_hook(name):
    raise ValueError(name)


def float_hook(text):
    value = float(text)
    if math.isinf(value):
        raise ValueError("out of range")
    return value


def int_hook(text):
    if len(text.lstrip("-")) > MAX_DIGITS:
        raise ValueError("too many digits")
    return int(text)


def model_loads(data):
    with no_limit():
        value = json.loads(
            data.decode(), object_pairs_hook=pairs_hook, parse_constant=constant_hook, parse_float=float_hook,
            parse_int=int_hook,
        )
        refuse_surrogates(value)
        return value


def model_dumps(value):
    with no_limit():
        return json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode()


def same(a, b):
    """Equality that tells 1 from 1.0 and True, 0.0 from -0.0, and one order of keys from another."""
    if type(a) is not type(b):
        return False
    if type(a) is dict:
        return same(list(a), list(b)) and same(list(a.values()), list(b.values()))
    if type(a) is list:
        return len(a) == len(b) and all(map(same, a, b))
    if type(a) is float:
        return a.hex() == b.hex()
    return a == b
