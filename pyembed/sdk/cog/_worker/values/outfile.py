"""Files that a model returns, as ``data:`` URLs."""

from __future__ import annotations

import os
import stat

from .mime import media_type

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


class FileProblem(Exception):
    """A file that cannot be returned; the message says which and why."""


def data_url(value: Any) -> str:
    """Return the content of a path or file object as a ``data:`` URL.

    File objects are read from their start if they are seekable. Text is encoded
    in UTF-8. A URLPath that was never fetched stays a URL.
    """
    if is_unfetched(value):
        return str(value.source)
    if hasattr(value, "__fspath__"):
        name = os.fsdecode(os.fspath(value))
        return _url(name, _read_path(name))
    name, content = read_file(value)
    return _url(name, content)


def is_unfetched(value: Any) -> bool:
    """Return whether value is a URLPath, which stays a URL."""
    source = getattr(value, "source", None)
    return type(value).__name__ == "URLPath" and isinstance(source, str)


def _url(name: str, content: bytes) -> str:
    import binascii

    encoded = binascii.b2a_base64(content, newline=False).decode("ascii")
    return f"data:{media_type(name, content[:16])};base64,{encoded}"


def open_regular(path: str | bytes) -> int:
    """Open a regular file for reading.

    A device may never end, and a named pipe may block.
    """
    shown = os.fsdecode(path)
    check_kind(os.stat(path).st_mode, shown)
    file = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    try:
        check_kind(os.fstat(file).st_mode, shown)  # it may have been replaced
    except FileProblem:
        os.close(file)
        raise
    return file


def check_kind(mode: int, name: str) -> None:
    """Refuse everything but regular files."""
    if stat.S_ISREG(mode):
        return
    if stat.S_ISDIR(mode):
        raise FileProblem(f"{name!r} is a folder; return its files, or an archive of them")
    kinds = {stat.S_IFIFO: "a named pipe", stat.S_IFSOCK: "a socket"}
    kind = kinds.get(stat.S_IFMT(mode), "a device")
    raise FileProblem(f"{name!r} is {kind}; only regular files can be returned")


def _read_path(name: str) -> bytes:
    try:
        with open(open_regular(name), "rb") as file:
            return file.read()
    except FileNotFoundError as exc:
        raise FileProblem(f"the file {name!r} does not exist") from exc
    except (OSError, ValueError) as exc:
        raise FileProblem(f"the file {name!r} cannot be read: {exc}") from exc


def read_file(file: Any) -> tuple[str, bytes]:
    """Return the name ("" without one) and the content of a file object."""
    name = getattr(file, "name", None)
    name = os.fsdecode(name) if isinstance(name, (str, bytes)) else ""
    if getattr(file, "closed", False):
        if name:
            return name, _read_path(name)
        raise FileProblem("the file object is closed, and has no name to open it by")
    _refuse_device(file, name)
    try:
        if _can(file, "writable"):
            file.flush()  # the buffer may hold the last writes
        if _can(file, "seekable"):
            file.seek(0)
        content = file.read()
    except Exception as exc:
        # Mostly a file that is open for writing: read it by its name.
        if name and os.path.isfile(name):
            return name, _read_path(name)
        raise FileProblem(
            f"the file object of type {type(file).__name__} cannot be read: {exc}"
        ) from exc
    if isinstance(content, str):
        # The content of text does not tell its media type.
        return name or "text.txt", content.encode(errors="surrogateescape")
    if not isinstance(content, (bytes, bytearray, memoryview)):
        raise FileProblem(
            f"read() of {type(file).__name__} returned {type(content).__name__}, not bytes"
        )
    return name, bytes(content)


def _can(file: Any, ability: str) -> bool:
    method = getattr(file, ability, None)
    return callable(method) and bool(method())


def _refuse_device(file: Any, name: str) -> None:
    """Refuse devices, which have no end. A pipe ends with its writer."""
    try:
        mode = os.fstat(file.fileno()).st_mode
    except Exception:  # it has no descriptor
        return
    if stat.S_ISCHR(mode) or stat.S_ISBLK(mode):
        check_kind(mode, name or type(file).__name__)
