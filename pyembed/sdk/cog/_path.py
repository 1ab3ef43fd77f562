"""Paths: the files that go in and out of a model."""

from __future__ import annotations

import pathlib

TYPE_CHECKING = False
if TYPE_CHECKING:
    import io
    from typing import Any

_URL_SCHEMES = ("http:", "https:", "data:")


class Path(pathlib.PosixPath):
    """A `pathlib.Path` that stands for a file in the interface of a model.

    As an input it is a local file, also for a URL of the client. As an output
    the file is handed to the client; it must exist when the function returns.

    >>> from cog import BaseRunner, Path
    >>> class Runner(BaseRunner):
    ...     def run(self, text: Path) -> Path:
    ...         out = Path("/tmp/upper.txt")
    ...         out.write_text(text.read_text().upper())
    ...         return out
    """

    @classmethod
    def validate(cls, value: Any) -> pathlib.Path:
        """Return value as a path: a `URLPath` for a URL, a `Path` otherwise.

        >>> from cog import Path
        >>> Path.validate("/tmp/a.txt")
        Path('/tmp/a.txt')
        """
        if isinstance(value, pathlib.Path):
            return value
        if isinstance(value, str) and value.startswith(_URL_SCHEMES):
            from ._filename import temporary_name

            return URLPath(source=value, filename=temporary_name(value), fileobj=_open_url(value))
        return cls(value)


class URLPath(pathlib.PosixPath):
    """A file that lies behind a URL until `convert` fetches it.

    Inputs are never of this type; it is here for models that build or test for it.

    >>> from cog import URLPath
    >>> import io
    >>> url = "https://example.com/a.txt"
    >>> path = URLPath(source=url, filename="a.txt", fileobj=io.BytesIO(b"a"))
    >>> str(path) == url, path.convert().read_bytes()
    (True, b'a')
    >>> path.unlink()
    """

    source: str
    filename: str
    fileobj: io.IOBase
    _local: Path | None

    def __new__(cls, *, source: str, filename: str, fileobj: io.IOBase) -> URLPath:
        """Make the path; its parts are those of the URL and name no file."""
        self = pathlib.PosixPath.__new__(cls, source)
        self._adopt(source, filename, fileobj)
        return self

    def __init__(self, *, source: str, filename: str, fileobj: io.IOBase) -> None:
        # pathlib took the parts in __new__ before 3.12 and takes them here since.
        if hasattr(pathlib.PurePath, "_load_parts") or hasattr(pathlib.PurePath, "_raw_path"):
            init: Any = super().__init__  # as typed for 3.10 it takes nothing
            init(source)
        self._adopt(source, filename, fileobj)

    def _adopt(self, source: str, filename: str, fileobj: io.IOBase) -> None:
        self.source = source
        self.filename = filename
        self.fileobj = fileobj
        self._local = None

    def convert(self) -> Path:
        """Fetch the file, once, and return where it lies."""
        if self._local is None:
            import os
            import shutil
            import tempfile

            handle, name = tempfile.mkstemp(suffix="-" + (self.filename or "file"))
            with os.fdopen(handle, "wb") as out:
                shutil.copyfileobj(self.fileobj, out)
            self._local = Path(name)
        return self._local

    def unlink(self, missing_ok: bool = False) -> None:
        """Remove the fetched copy; the URL stays."""
        if self._local is not None:
            self._local.unlink(missing_ok=missing_ok)
            self._local = None

    def __str__(self) -> str:
        return self.source

    def __repr__(self) -> str:
        return f"URLPath({self.source!r})"

    def __reduce__(self) -> tuple[Any, ...]:
        return _restore_url_path, (self.source, self.filename)


def _restore_url_path(source: str, filename: str) -> URLPath:
    return URLPath(source=source, filename=filename, fileobj=_open_url(source))


def _open_url(url: str) -> Any:
    from ._file import URLFile, open_data_url

    return open_data_url(url) if url.startswith("data:") else URLFile(url)


Path.__module__ = "cog.types"
URLPath.__module__ = "cog.types"
