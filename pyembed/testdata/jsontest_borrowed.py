"""Which strings px_json_borrow leaves where they are, and that it drops what it holds."""

import sys

import _pxjson
from jsontest_cases import Color, Plain, Str
from jsontest_model import model_dumps

BORROWED = 64 << 10
MOST = 15


def text_of(n, i=0):
    """A new str of n bytes; i makes it another one."""
    return chr(ord("a") + i) * n


def values():
    """Give (name, value, how many strings of it are str)."""
    for n in (BORROWED - 1, BORROWED, BORROWED + 1, 10 * BORROWED + 7):
        yield f"{n} bytes", text_of(n), int(n >= BORROWED)
        yield f"{n} bytes, a subclass", Str(text_of(n)), int(n >= BORROWED)
        for escape in '"\\\n\x1f':
            for at in (0, n // 2, n - 1):
                yield f"{n} bytes, {escape!r} at {at}", text_of(at) + escape + text_of(n - at - 1), 0
    for char, size in {"\x7f": 1, "\xe4": 2, "\u20ac": 3, "\U0001f600": 4}.items():
        n = -(-BORROWED // size)  # the least that are enough
        yield f"{n} of {char!r}", char * n, 1
        yield f"{n - 1} of {char!r}", char * (n - 1), 0
    big = text_of(BORROWED)
    yield "one str several times", [big, {"a": big, "b": (big,)}, big], 4
    yield "between others", [1, big, "", {"k": [text_of(BORROWED, 1), "\n", text_of(BORROWED - 1, 2)]}, text_of(BORROWED, 3), None], 3
    yield "a key", {big: 1, "b": [big]}, 1
    yield "as many as there may be", [text_of(BORROWED, i) for i in range(MOST)], MOST
    yield "more", [text_of(BORROWED + i, i) for i in range(MOST + 3)], MOST
    yield "an empty list", [], 0


def borrowed(data):
    """The pieces are the JSON, as many are str as should be, and no reference is left."""
    for name, value, want in values():
        before = sys.getrefcount(value)
        pieces = _pxjson.borrow(value)
        if b"".join(pieces) != model_dumps(value):
            return f"{name}: another text".encode()
        if len(pieces) != 2 * want + 1:
            return f"{name}: {len(pieces) // 2} are str, not {want}".encode()
        if sys.getrefcount(value) != before:
            return f"{name}: {sys.getrefcount(value) - before} references left".encode()

    big = text_of(BORROWED)
    before = sys.getrefcount(big)
    for value, error in (([big, Plain()], TypeError), ([big, [big, "\ud800"]], ValueError), ([big, Color.RED], ZeroDivisionError)):
        try:
            _pxjson.borrow(value, lambda o: 1 // 0 if isinstance(o, Color) else NotImplemented)
            return f"no {error.__name__}".encode()
        except error:
            pass
        del value
    if sys.getrefcount(big) != before:
        return f"after errors: {sys.getrefcount(big) - before} references left".encode()

    # Only the buffer holds what the fallback made.
    pieces = _pxjson.borrow([Plain(), Plain()], lambda o: text_of(BORROWED, 4))
    if b"".join(pieces) != model_dumps([text_of(BORROWED, 4)] * 2) or len(pieces) != 5:
        return b"what a fallback made"
    return b""
