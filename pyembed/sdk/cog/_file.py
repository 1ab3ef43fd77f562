"""File objects: the deprecated way to take and return files."""

from __future__ import annotations

import io

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_HTTP = ("http://", "https://")
_TIMEOUT = 10  # seconds without data


class File(io.IOBase):
    """A file object. Deprecated: use `cog.Path`.

    An input of this type is a local file, open for reading bytes. As an output
    any open file will do; it is read from its start.

    >>> from cog import File
    >>> File.validate("data:text/plain;base64,aGk=").read()
    b'hi'
    """

    @classmethod
    def validate(cls, value: Any) -> io.IOBase:
        """Return value as an open file: a file object as it is, a URL or a path opened."""
        if isinstance(value, io.IOBase):
            return value
        text = str(value)
        if text.startswith("data:"):
            return open_data_url(text)
        if text.startswith(_HTTP):
            return URLFile(text)
        return open(text, "rb")


class URLFile(io.IOBase):
    """The content behind a URL, requested at the first use of the object.

    >>> from cog import URLFile
    >>> URLFile("https://example.com/a.txt").name
    'a.txt'
    """

    def __init__(self, url: str, filename: str | None = None) -> None:
        from ._filename import temporary_name

        if not url.startswith(_HTTP):
            raise ValueError(
                f"the URL of a URLFile must begin with http: or https:, got {url[:100]!r}"
            )
        self._url = url
        self._response: Any = None
        self.name = filename or temporary_name(url)

    def _open(self) -> Any:
        if self._response is None:
            import urllib.request

            headers = {"User-Agent": _user_agent()}
            request = urllib.request.Request(self._url, headers=headers)  # noqa: S310 (http only)
            self._response = urllib.request.urlopen(request, timeout=_TIMEOUT)  # noqa: S310
        return self._response

    def readable(self) -> bool:
        """Return True: it can be read once, in order."""
        return True

    def read(self, size: int = -1) -> bytes:
        """Read up to size bytes, or all."""
        data: bytes = self._open().read(None if size is None or size < 0 else size)
        return data

    def readinto(self, buffer: Any) -> int:
        """Read into a buffer and return how many bytes there were."""
        count: int = self._open().readinto(buffer)
        return count

    def close(self) -> None:
        """Close the connection, if one was made."""
        response = self.__dict__.get("_response")
        if response is not None:
            response.close()
        super().close()

    def __repr__(self) -> str:
        return f"<URLFile {self.name!r} at {self._url!r}>"

    def __reduce__(self) -> tuple[type[URLFile], tuple[str, str]]:
        return URLFile, (self._url, self.name)


def open_data_url(url: str) -> io.BytesIO:
    """Return the content of a ``data:`` URL."""
    import binascii
    from urllib.parse import unquote_to_bytes

    head, comma, body = url.partition(",")
    if not comma:
        raise ValueError("a data: URL needs a comma before its content")
    content = unquote_to_bytes(body)
    if head.endswith(";base64"):
        content = binascii.a2b_base64(content)
    return io.BytesIO(content)


def _user_agent() -> str:
    import os

    return os.environ.get("COG_USER_AGENT") or "pinion"


File.__module__ = "cog.types"
URLFile.__module__ = "cog.types"
