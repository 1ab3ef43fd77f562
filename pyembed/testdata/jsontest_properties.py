"""Checks with random values, and the fuzz target; each gives a complaint, or nothing."""

import collections
import json
import math
import random
import struct

import _pxjson
from jsontest_cases import Dict, Float, Int, List, Str
from jsontest_model import MAX_DEPTH, depth, model_dumps, model_loads, no_limit, outcome, same


ALPHABETS = [
    "abcdefghijklmnopqrstuvwxyz_ 0123456789", '"\\/\b\f\n\r\t\0\x01\x1f\x7f', "\u00e4\u00df\u0416\u05d0\u07ff\u0800",
    "\u20ac\ufeff\uffff\ud7ff\ue000", "\U00010000\U0001f600\U0010ffff",
]


def random_str(r):
    n = r.choice([0, 1, 3, 7, 8, 15, 16, 17, 31, 32, 33, 64, 100])
    alphabet = r.choice(ALPHABETS[:1] * 3 + ALPHABETS)
    text = [r.choice(alphabet) for _ in range(n)]
    if n and r.random() < 0.3:  # something special at one place, for the scan in blocks of 16
        text[r.randrange(n)] = r.choice("".join(ALPHABETS[1:]))
    return "".join(text)


def random_int(r):
    kind = r.random()
    if kind < 0.6:
        return r.randint(-(10 ** r.randint(0, 18)), 10 ** r.randint(0, 18))
    if kind < 0.9:
        return r.choice([1, -1]) * (2 ** r.randint(0, 130) + r.randint(-2, 2))
    return r.choice([1, -1]) * r.getrandbits(r.randint(1, 6000))


def random_float(r):
    kind = r.random()
    if kind < 0.3:
        return round(r.uniform(-1000, 1000), r.randint(0, 8))
    if kind < 0.6:
        return r.random()
    if kind < 0.7:
        return float(r.randint(-(10**18), 10**18))
    while True:
        value = struct_float(r.getrandbits(64))
        if math.isfinite(value):
            return value


def struct_float(bits):
    return struct.unpack("<d", struct.pack("<Q", bits))[0]


def random_value(r, level=0):
    kind = r.randrange(9 if level < 5 else 6)
    if kind == 0:
        return r.choice([None, True, False])
    if kind == 1:
        return random_int(r)
    if kind == 2:
        return random_float(r)
    if kind <= 5:
        return random_str(r)
    n = r.choice([0, 1, 2, 3, 10, 40]) if level < 3 else r.choice([0, 1, 2])
    if kind == 6:
        return [random_value(r, level + 1) for _ in range(n)]
    return {random_str(r): random_value(r, level + 1) for _ in range(n)}


def dressed(r, value):
    """value with subclasses and tuples in place of some of its parts."""
    if type(value) is list:
        value = [dressed(r, v) for v in value]
        return r.choice([list, tuple, List])(value)
    if type(value) is dict:
        value = {dressed(r, k): dressed(r, v) for k, v in value.items()}
        return r.choice([dict, Dict, collections.OrderedDict])(value)
    wrap = {str: Str, int: Int, float: Float}.get(type(value))
    return wrap(value) if wrap and r.random() < 0.3 else value


def json_text(r, value):
    """value as a JSON text with unusual spaces and escapes."""
    with no_limit():
        text = json.dumps(value, ensure_ascii=r.random() < 0.5, indent=r.choice([None, None, 1]))
    return text.replace("/", r.choice(["/", "\\/"])).encode()


def properties(data):
    """{"seed": n, "count": n}: random values there and back, and against json."""
    case = json.loads(data)
    for seed in range(case["seed"], case["seed"] + case["count"]):
        r = random.Random(seed)
        value = random_value(r)
        text = json_text(r, value)
        live = _pxjson.live()
        got = _pxjson.loads(text)
        if not same(got, value):
            return f"seed {seed}: loads({text!r:.300}) is {got!r:.300}".encode()
        want = model_dumps(value)
        got = _pxjson.dumps(value)
        if got != want:
            return b"seed %d: dumps is %s, not %s" % (seed, got[:300], want[:300])
        got = _pxjson.dumps(dressed(r, value))
        if got != want:
            return b"seed %d: dumps of subclasses is %s, not %s" % (seed, got[:300], want[:300])
        if _pxjson.live() != live:
            return b"seed %d: memory left" % seed
    return b""


def floats(data):
    """{"seed": n, "count": n}: floats of every size there and back, against float and repr."""
    case = json.loads(data)
    r = random.Random(case["seed"])
    values = [2.0**n for n in range(-1074, 1024)]
    values += [math.nextafter(v, to) for v in values for to in (0.0, math.inf)]
    values += [float(f"1e{n}") for n in range(-323, 309)]
    values += [random_float(r) for _ in range(case["count"])]
    for value in values:
        if math.isinf(value):
            continue
        text = repr(value).encode()
        if _pxjson.dumps(value) != text:
            return b"dumps of %s is %s" % (text, _pxjson.dumps(value))
        for text in (text, b"%.25e" % value, b"%.17g" % value, b"%.18e" % value, b"%.5f" % value, b"%.15e" % value):
            want = int(text) if text.strip(b"-").isdigit() else float(text)
            if not same(outcome(lambda: _pxjson.loads(text))[0], None if math.isinf(want) else want):
                return b"loads(%s) is not %r" % (text, want)
    # Digits that stand in the middle of a text, and decimals halfway between two doubles.
    halves = [(r.getrandbits(53) | 1 << 53 | 1, k) for k in range(4) for _ in range(case["count"])]
    numbers = [repr(v) for v in values if math.isfinite(v)] + [f"{n * 5**k}e-{k}" for n, k in halves]
    numbers += [f"{n * 5**k + d}e-{k}" for n, k in halves[:1000] for d in (-1, 1) if n * 5**k + d < 10**19]
    numbers += [f"{'0' * r.randrange(3) and '0.'}{'0' * r.randrange(9)}{r.getrandbits(r.randrange(1, 64))}e1" for _ in halves]
    numbers += [f"0.{'0' * n}1e{e}" for n in (19, 100_001, 1_000_005) for e in (n, n - 9, n + 9, 10 * n, 100_002, 1_000_006)]
    numbers = [n for n in numbers if not math.isinf(float(n)) and (n == "0e1" or n[0] != "0" or n[1] == ".")]
    for text, got in zip(numbers, _pxjson.loads(b"[" + ",".join(numbers).encode() + b"]"), strict=True):
        if not same(got, float(text)):
            return f"loads([{text}]) is {got!r}".encode()
    return b""


# ---- fuzzing ------------------------------------------------------------------------


def fuzz(text):
    live = _pxjson.live()
    complaint = fuzz_case(text)
    if not complaint and _pxjson.live() != live:
        complaint = "memory left"
    return complaint.encode("utf-8", "backslashreplace")


def fuzz_case(text):
    got, error = outcome(lambda: _pxjson.loads(text))
    if error is not None:
        if type(error) is not ValueError or not str(error).startswith("invalid JSON at byte "):
            return f"{type(error).__name__}: {error}"
        at = int(str(error)[len("invalid JSON at byte ") :].split(":")[0])
        if not 0 <= at <= len(text):
            return f"the place is outside of the text: {error}"
    try:
        deep = depth(text.decode()) > MAX_DEPTH
    except UnicodeDecodeError:
        deep = False
    if deep:
        return "" if error is not None else "nested too deep, but read"
    want, refusal = outcome(lambda: model_loads(text))
    if (refusal is None) != (error is None):
        return f"bridge: {error or got!r}; json: {refusal or want!r}"
    if error is not None:
        return ""
    if not same(got, want):
        return f"bridge: {got!r}; json: {want!r}"
    written = _pxjson.dumps(got)
    if written != model_dumps(want):
        return f"dumps: {written!r}; json: {model_dumps(want)!r}"
    if not same(_pxjson.loads(written), got):
        return f"there and back: {written!r}"
    return ""
