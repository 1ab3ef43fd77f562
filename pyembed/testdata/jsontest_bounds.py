"""Checks of the key cache, of long numbers and of failing allocations, and the speed."""

import contextlib
import json
import math
import random
import sys
import time

import _pxjson
from jsontest_cases import Color, Int, Items, Plain, Point, Str, cyclic_list, moved, value_of
from jsontest_model import MAX_DIGITS, model_dumps, model_loads, no_limit, outcome, same


def keys(data):
    """Pinned keys match by identity, unpinned ones are not made immortal, and many keys do no harm."""
    name = sys.intern("".join(["prompt", "_text"]))
    _pxjson.pin(name)
    for i in range(20_000):
        text = b'{"key%d": 1, "prompt_text": 2}' % i
        (first, second) = _pxjson.loads(text)
        if first != "key%d" % i or second is not name:
            return b"wrong keys after %d" % i
    for length in range(0, 70):
        for fill in ("k", "\u00e4"):
            key = (fill * length)[:length]
            other = key[:-1] + "x" if key else "x"
            text = json.dumps([{key: 1, other: 2}] * 2, ensure_ascii=False).encode()
            if not same(_pxjson.loads(text), [{key: 1, other: 2}] * 2):
                return b"wrong key of length %d" % length
    for middle in ("a", "b", "ab", "ba", "abc"):
        key = "same 8 ," + middle + ", same 8"
        if _pxjson.loads(json.dumps({key: 1}).encode()) != {key: 1}:
            return f"wrong key, not {key}".encode()
    fresh = next(iter(_pxjson.loads(b'{"never seen before": 1}')))
    if sys.getrefcount(fresh) > 100:
        return b"a client's key became immortal"
    _pxjson.clear()
    (again,) = _pxjson.loads(b'{"prompt_text": 1}')
    if again is name:
        return b"clear left a pinned key"
    _pxjson.pin(name)
    return b""


def long_numbers(data):
    """Numbers around the lengths at which the way of conversion changes, under the tightest limit."""
    limited = hasattr(sys, "set_int_max_str_digits")
    if limited:
        sys.set_int_max_str_digits(640)
    try:
        lengths = [1, 17, 18, 19, 20, 511, 512, 513, 639, 641, 1023, 1024, 1025, 1536, 2048, 2049, 4300, 4301, 10_000]
        for n in lengths + [65_535, 65_536, 65_537, MAX_DIGITS - 1, MAX_DIGITS]:
            for text in ("9" * n, "1" + "0" * (n - 1), ("1234567890" * (n // 10 + 1))[:n], "-" + "9" * n):
                with no_limit():
                    want = int(text)
                value = _pxjson.loads(text.encode())
                if value != want:
                    return f"loads of {n} digits".encode()
                if _pxjson.dumps(want).decode() != text:
                    return f"dumps of {n} digits".encode()
                if _pxjson.dumps({want: [Int(want)]}).decode() != '{"' + text + '":[' + text + "]}":
                    return f"dumps of {n} digits as key".encode()
        if limited and sys.get_int_max_str_digits() != 640:
            return b"the limit was changed"
    finally:
        if limited:
            sys.set_int_max_str_digits(4300)
    return b""


def no_memory(data):
    """Each allocation of the bridge's, and each of Python's under it, fails once: MemoryError, and nothing is left."""
    big = 10**5000 + 1
    text = model_dumps(
        {"a": [1.5, big, "x\ny", 0.1234567890123456e-40] * 20, "k" * 40: [{"b": []}] * 50, "u": "\u00e4\U0001f600"}
    )
    bad = [b'["\\u00e4" ' * 5, b'{"a": [1, 2, {"b": "x\\n" + 3}', text[:-2] + b"x", b'{"a": "\xff"}']
    value = model_loads(text)
    odd = [{"a": {1, 2}, big: Str("x"), "b": Items()}, moved(), Color.RED, Point(1, 2.5), {"c": {3}}]
    wrong = [{"a": [Plain()]}, ["\ud800"], {(1,): 2}, [math.nan], [10**100000], cyclic_list()]
    runs = [lambda t=t: _pxjson.loads(t) for t in [text, *bad]]
    runs += [lambda v=v: _pxjson.dumps(v, value_of) for v in [value, odd, *wrong]]
    fail = {"bridge": (_pxjson.fail_at, lambda: _pxjson.fail_at(0))}
    with contextlib.suppress(ImportError):  # distributions may leave it out
        import _testcapi

        fail["python"] = (lambda n: _testcapi.set_nomemory(n - 1, n), _testcapi.remove_mem_hooks)
    for who, (start, stop) in fail.items():
        for run in runs:
            _pxjson.clear()
            want, error = outcome(run)
            live = _pxjson.live()
            n = good = 0  # good: calls in a row that nothing happened to, so that the last allocation is passed
            while good < 3:
                n += 1 + n // 20
                _pxjson.clear()
                try:
                    start(n)
                    try:
                        value = run()
                    finally:
                        stop()
                except MemoryError:
                    good = 0
                except Exception as e:
                    # 3.10 goes on with an empty text where it has no memory to make one.
                    if type(e) is not type(error) or not str(error).endswith(str(e)):
                        return f"{who}'s allocation {n}: {type(e).__name__} {e} for {error!r}".encode()
                    good += 1
                else:
                    if error is not None or value != want:
                        return f"{who}'s allocation {n}: {value!r:.200} for {error or want!r}".encode()
                    good += 1
                if _pxjson.live() != live:
                    return f"{who}'s allocation {n}: {_pxjson.live() - live} blocks left".encode()
    return b""


def speed(data):
    """Nanoseconds for one loads and dumps of some payloads, the bridge's and json's."""
    def clock(run, n):
        start = time.perf_counter_ns()
        for _ in range(n):
            run()
        return (time.perf_counter_ns() - start) / n

    small = {"prompt": "a photo of a cat", "steps": 30, "scale": 7.5, "seed": 123456789, "flags": [True, False, None]}
    row = {"id": 12345, "name": "some name here", "score": 0.8731264512, "tags": ["a", "bb", "ccc"], "box": [1, 2, 3.5, 4]}
    rng = random.Random(1)
    payloads = {
        "small": small,
        "medium": {"rows": [dict(row, id=i) for i in range(90)]},
        "large": {"rows": [dict(row, id=i) for i in range(9000)]},
        "base64": "QUJD" * 250_000,
        "floats": [rng.random() for _ in range(10_000)],
        "rounded": [round(rng.uniform(0, 1000), 2) for _ in range(10_000)],
        "ints": [rng.randint(0, 10**6) for _ in range(10_000)],
        "escapes": 'line one\n\t"quoted" \\ and more text here\n' * 1000,
        "unicode": "\u4f60\u597d\uff0c\u4e16\u754c " * 5000,
    }
    lines = []
    for name, value in payloads.items():
        text = model_dumps(value)
        n = max(1, min(200_000, 20_000_000 // (len(text) * 4)))
        mine_in = min(_pxjson.time_loads(text, n) for _ in range(5))
        mine_out = min(_pxjson.time_dumps(value, n) for _ in range(5))
        n = max(1, n // 5)
        theirs_in = min(clock(lambda: json.loads(text), n) for _ in range(3))
        theirs_out = min(clock(lambda: json.dumps(value), n) for _ in range(3))
        lines.append(
            f"{name:8} {len(text):8} B  loads {mine_in:11.0f} ns (json {theirs_in:11.0f})"
            f"  dumps {mine_out:11.0f} ns (json {theirs_out:11.0f})"
        )
    return "\n".join([sys.version.split()[0], *lines]).encode()
