"""Files that a model returns, copied to where the front uploads them from."""

from __future__ import annotations

import errno
import io
import os

from .mime import extension
from .outfile import FileProblem, check_kind, is_unfetched, open_regular, read_file

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_CHUNK = 1 << 30  # the most that one system call is asked to copy, in bytes
_NAME_BYTES = 255  # of a file's name
_REMOVED = "the server's folder of temporary files was removed while the prediction used it"
# What copying within the kernel answers where these two files do not go together.
_APART = {errno.EXDEV, errno.EINVAL, errno.ENOSYS, errno.EOPNOTSUPP, errno.EBADF, errno.EPERM}
_RAW = (io.FileIO, io.BufferedReader, io.BufferedWriter, io.BufferedRandom)


class Store:
    """Copies the files of one prediction, each into a folder of its own.

    Called with a path or a file object it returns the text that stands in the output until the
    front has uploaded the copy. The copy is made at once: the model may go on to change the file.
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
                file.flush()  # what the model wrote last may still be in its buffer
            check_kind(os.fstat(file.fileno()).st_mode, name or type(file).__name__)
            # Opened anew, for the object may be for writing only, and has a position of its own.
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
        """Return the text that stands for the next file, and the file, open for writing.

        One without a name is called by its number among those, as with coglet: of two with one
        name the later would take the earlier's place where they are uploaded to.
        """
        number, self._count = self._count, self._count + 1
        name = _base(name)
        if not name:
            name = f"{self._nameless}{suffix or extension(start) or '.bin'}"
            self._nameless += 1
        folder = f"{self._folder}/{number}"
        try:
            os.mkdir(folder)  # not what is above it: the server makes that, for itself alone
        except FileExistsError:
            pass  # of a worker that died over this prediction
        except FileNotFoundError:
            raise OSError(_REMOVED) from None
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
        target = os.open(f"{folder}/{name}", flags, 0o600)
        return f"pinion-file:{self._token}:{number}/{name}", target


def _name_of(file: Any) -> str:
    name = getattr(file, "name", None)
    return os.fsdecode(name) if isinstance(name, (str, bytes)) else ""


def _base(name: str) -> str:
    """Return the last part of a path as a file's name that JSON can hold, "" if it has none."""
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
    """Copy what a file holds, within the kernel where that can be."""
    copied = 0
    try:
        while count := os.copy_file_range(source, target, _CHUNK, copied):
            copied += count
        if copied:
            return
    except OSError as exc:
        if exc.errno not in _APART:
            raise
    # Not between these file systems; or a file of /proc, which says that it is empty.
    os.lseek(source, copied, os.SEEK_SET)
    while content := os.read(source, 1 << 20):
        while content:
            content = content[os.write(target, content) :]
