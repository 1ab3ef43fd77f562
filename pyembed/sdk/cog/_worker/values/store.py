"""Files that a model returns, copied for the front, which uploads them."""

from __future__ import annotations

import errno
import io
import os

from .mime import extension
from .outfile import FileProblem, check_kind, is_unfetched, open_regular, read_file

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_CHUNK = 1 << 30  # bytes to copy in one system call
_NAME_BYTES = 255  # of a file's name
_REMOVED = "the server's folder of temporary files was removed while the prediction used it"
# Errors of copy_file_range after which the content is copied by reads and writes.
_FALLBACK_ERRORS = {
    errno.EXDEV,
    errno.EINVAL,
    errno.ENOSYS,
    errno.EOPNOTSUPP,
    errno.EBADF,
    errno.EPERM,
}
_RAW = (io.FileIO, io.BufferedReader, io.BufferedWriter, io.BufferedRandom)


class Store:
    """Copies the files of one prediction, each into a separate folder.

    Called with a path or a file object, it returns a marker for the output. The front replaces that
    after the upload. It copies at once, because the model may change the file later.
    """

    def __init__(self, folder: str, token: str) -> None:
        self._folder = folder
        self._token = token
        self._count = 0
        self._nameless = 0

    def __call__(self, value: Any) -> str:
        """Copy a file."""
        if is_unfetched(value):
            return str(value.source)
        if hasattr(value, "__fspath__"):
            return self._copy_path(os.fspath(value))
        raw = getattr(value, "file", value) if hasattr(value, "delete") else value  # of tempfile
        if type(raw) in _RAW and not raw.closed:
            return self._copy_open(raw, _name_of(value))
        name, content = read_file(value)
        if type(raw) is io.StringIO:
            return self._write("", content, ".txt")
        return self._write(name, content)

    def _copy_path(self, path: str | bytes) -> str:
        shown = os.fsdecode(path)
        try:
            source = open_regular(path)
            try:
                return self._copy(source, shown)
            finally:
                os.close(source)
        except FileNotFoundError as exc:
            raise FileProblem(f"the file {shown!r} does not exist") from exc
        except (OSError, ValueError) as exc:
            raise FileProblem(f"the file {shown!r} cannot be copied: {exc}") from exc

    def _copy_open(self, file: Any, name: str) -> str:
        try:
            if file.writable():
                file.flush()  # the buffer may hold the last writes
            check_kind(os.fstat(file.fileno()).st_mode, name or type(file).__name__)
            # Opened again, because the object may be write-only and has a position.
            return self._copy_path_as(f"/proc/self/fd/{file.fileno()}", name)
        except (OSError, ValueError) as exc:
            raise FileProblem(f"the file {name!r} cannot be copied: {exc}") from exc

    def _copy_path_as(self, path: str, name: str) -> str:
        source = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
        try:
            return self._copy(source, name)
        finally:
            os.close(source)

    def _copy(self, source: int, name: str) -> str:
        start = os.pread(source, 16, 0) if not _base(name) else b""
        marker, target = self._create(name, start)
        try:
            _copy_content(source, target)
        finally:
            os.close(target)
        return marker

    def _write(self, name: str, content: bytes, suffix: str = "") -> str:
        try:
            marker, target = self._create(name, content[:16], suffix)
            with open(target, "wb") as file:
                file.write(content)
        except OSError as exc:
            raise FileProblem(f"the file {name!r} cannot be stored: {exc}") from exc
        return marker

    def _create(self, name: str, start: bytes, suffix: str = "") -> tuple[str, int]:
        """Return the marker of the next file, and the file, open for writing.

        Files without a name get numbers, as with coglet: two uploads of one name would overwrite
        each other.
        """
        number, self._count = self._count, self._count + 1
        name = _base(name)
        if not name:
            name = f"{self._nameless}{suffix or extension(start) or '.bin'}"
            self._nameless += 1
        folder = f"{self._folder}/{number}"
        try:
            os.mkdir(folder)  # the server has made the folder above it, with its own mode
        except FileExistsError:
            pass  # left by a worker that died during this prediction
        except FileNotFoundError:
            raise OSError(_REMOVED) from None
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
        target = os.open(f"{folder}/{name}", flags, 0o600)
        return f"pinion-file:{self._token}:{number}/{name}", target


def _name_of(file: Any) -> str:
    name = getattr(file, "name", None)
    return os.fsdecode(name) if isinstance(name, (str, bytes)) else ""


def _base(name: str) -> str:
    """Return the last part of a path as a file name that JSON can hold, "" without one."""
    base = name.rpartition("/")[2].replace("\0", "")
    if base in ("", ".", ".."):
        return ""
    encoded = base.encode(errors="surrogateescape")
    if len(encoded) <= _NAME_BYTES and base.isprintable():
        return base
    text = encoded.decode(errors="replace")
    text = "".join(c if c.isprintable() else "_" for c in text)
    stem, dot, suffix = text.rpartition(".")
    if not stem or len(suffix) > 16:
        stem, dot, suffix = text, "", ""
    tail = dot + suffix
    room = _NAME_BYTES - len(tail.encode())
    return stem.encode()[:room].decode(errors="ignore") + tail


def _copy_content(source: int, target: int) -> None:
    """Copy the content of a file, within the kernel if possible."""
    copied = 0
    try:
        while count := os.copy_file_range(source, target, _CHUNK, copied):
            copied += count
        if copied:
            return
    except OSError as exc:
        if exc.errno not in _FALLBACK_ERRORS:
            raise
    # The files are on different file systems, or this is a file of /proc, whose size is 0.
    os.lseek(source, copied, os.SEEK_SET)
    while content := os.read(source, 1 << 20):
        while content:
            content = content[os.write(target, content) :]
