"""Names of the files that lie behind URLs."""

from __future__ import annotations

FILENAME_ILLEGAL_CHARS = {"\0", "/"}
"""Characters that a file name on Linux may not contain.

>>> from cog.types import FILENAME_ILLEGAL_CHARS
>>> "/" in FILENAME_ILLEGAL_CHARS
True
"""

FILENAME_MAX_LENGTH = 200
"""The longest name that `get_filename` makes, in bytes.

File systems allow 255, and names of temporary files add to it.

>>> from cog.types import FILENAME_MAX_LENGTH, get_filename
>>> len(get_filename("https://example.com/" + "a" * 300 + ".png")) == FILENAME_MAX_LENGTH
True
"""


def get_filename(url: str) -> str:
    """Return a name for the file behind a URL that a local file can have.

    That is the end of its path; "" where the path ends in a slash. A long name
    is cut before its suffix, and a ``~`` shows where. Of a ``data:`` URL it is
    ``file`` with the suffix of the media type.

    >>> from cog.types import get_filename
    >>> get_filename("https://example.com/a%20cat.png?size=2")
    'a cat.png'
    >>> get_filename("data:image/png;base64,iVBORw0KGgo=")
    'file.png'
    """
    if url[:5].lower() == "data:":
        from mimetypes import guess_extension

        media = url[5:].partition(",")[0].partition(";")[0].strip().lower()
        return "file" + (guess_extension(media or "text/plain") or "")
    from urllib.parse import unquote, urlparse

    name = unquote(urlparse(url).path.rpartition("/")[2])
    for illegal in FILENAME_ILLEGAL_CHARS:
        name = name.replace(illegal, "_")
    return _cut(name)


def temporary_name(url: str) -> str:
    """Return a name for the file behind a URL that may be part of a temporary file's."""
    return "".join("_" if c in '"*:<>?|\\' or not c.isprintable() else c for c in get_filename(url))


def _cut(name: str) -> str:
    if len(name.encode(errors="replace")) <= FILENAME_MAX_LENGTH:
        return name
    stem, dot, suffix = name.rpartition(".")
    end = "~" + dot + suffix
    if not stem or len(end.encode(errors="replace")) >= FILENAME_MAX_LENGTH:
        stem, end = name, "~"
    room = FILENAME_MAX_LENGTH - len(end.encode(errors="replace"))
    return stem.encode(errors="replace")[:room].decode(errors="ignore") + end


get_filename.__module__ = "cog.types"
