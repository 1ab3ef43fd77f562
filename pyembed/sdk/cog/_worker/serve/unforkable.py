"""What a setup leaves open that does not survive a fork, beside threads and CUDA."""

from __future__ import annotations

import gc
import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

# Databases whose handles must not cross a fork, by what stands at an offset of their files.
_DATABASES = (
    ("SQLite", 0, b"SQLite format 3\0"),
    ("HDF5", 0, b"\x89HDF\r\n\x1a\n"),
    ("LMDB", 16, b"\xde\xc0\xef\xbe"),
)

# What to do about the threads of a library, by a part of their names.
_ADVICE = {
    "onnxruntime": (
        "with intra_op_num_threads = 1 and inter_op_num_threads = 1 onnxruntime has none"
    ),
    "libgomp": (
        "OpenMP has none while it computes on one thread, "
        "as setup() does unless it sets their number"
    ),
}


def advice(threads: str) -> str:
    """Return what else helps with these threads, or ""."""
    return "".join(f"; {text}" for name, text in _ADVICE.items() if name in threads)


def open_files() -> dict[int, str]:
    """Return the open descriptors of this process, and what each is."""
    files = {}
    for name in os.listdir("/proc/self/fd"):
        try:
            files[int(name)] = os.readlink("/proc/self/fd/" + name)
        except OSError:
            continue  # the descriptor of listdir
    return files


def left_open(before: dict[int, str], instance: Any) -> str:
    """Return what was opened since and cannot be shared with a fork, or "".

    instance is the model's object, or None.
    """
    gc.collect()  # what only garbage keeps open is closed
    found = _loops() + _held_locks(instance)
    read = _file_objects()
    for fd, target in open_files().items():
        if before.get(fd) == target:
            continue
        if target.startswith("socket:"):
            found.append(_connection(fd))
        elif target.startswith("/"):
            found.append(_database(fd, target) or (_read_file(fd, target) if fd in read else ""))
        elif target == "anon_inode:[eventpoll]" and not found:
            found.append("an event loop (epoll)")
    return ", ".join(dict.fromkeys(filter(None, found + _file_locks())))


def _loops() -> list[str]:
    """Return the asyncio loops that are open."""
    asyncio = sys.modules.get("asyncio")
    if asyncio is None:
        return []
    kind = asyncio.AbstractEventLoop
    loops = [o for o in gc.get_objects() if issubclass(type(o), kind) and not o.is_closed()]
    return ["an open event loop"] if loops else []


def _connection(fd: int) -> str:
    """Say what a socket is connected to; "" for one that is not, and for pairs of this process."""
    from _socket import AF_UNIX, SO_PEERCRED, SO_TYPE, SOCK_STREAM, SOL_SOCKET, socket

    try:
        connection = socket(fileno=os.dup(fd))
    except OSError:
        return ""
    try:
        peer = connection.getpeername()
        if connection.getsockopt(SOL_SOCKET, SO_TYPE) != SOCK_STREAM:
            return ""  # a datagram is whole, from whichever process
        if connection.family == AF_UNIX:
            pid = int.from_bytes(connection.getsockopt(SOL_SOCKET, SO_PEERCRED, 4), sys.byteorder)
            if not peer and pid == os.getpid():
                return ""
    except OSError:
        return ""  # it is not connected
    finally:
        connection.close()
    if isinstance(peer, tuple):
        host = f"[{peer[0]}]" if ":" in peer[0] else peer[0]
        return f"a connection to {host}:{peer[1]}"
    return f"a connection to {os.fsdecode(peer)!s}" if peer else "a connection to another process"


def _file_objects() -> set[int]:
    """Return the descriptors of Python's file objects. What else is open, a mapping may keep."""
    from _io import FileIO

    return {o.fileno() for o in gc.get_objects() if issubclass(type(o), FileIO) and not o.closed}


def _read_file(fd: int, path: str) -> str:
    """Say which file is open for reading: forks share its position, and would read beside it."""
    from fcntl import F_GETFL, fcntl
    from stat import S_ISREG

    is_read = fcntl(fd, F_GETFL) & os.O_ACCMODE != os.O_WRONLY
    return f"the open file {path}" if is_read and S_ISREG(os.fstat(fd).st_mode) else ""


def _database(fd: int, path: str) -> str:
    """Say which database a file is of, or ""."""
    for name, offset, magic in _DATABASES:
        try:
            if os.pread(fd, len(magic), offset) == magic:
                return f"the {name} file {path}"
        except OSError:
            return ""  # a folder, or written only
    return ""


def _file_locks() -> list[str]:
    """Return the locks on files that this process holds.

    A fork has none of fcntl's, and shares flock's.
    """
    try:
        with open("/proc/locks") as locks:
            rows = [line.split() for line in locks]
    except OSError:
        return []
    # proc_locks(5): number, kind, ADVISORY, READ or WRITE, pid, device:inode …
    # "->" marks one that waits.
    mine = {row[5] for row in rows if len(row) > 5 and row[4] == str(os.getpid())}
    if not mine:
        return []
    names = []
    for fd in open_files():
        status = os.fstat(fd)
        major, minor = os.major(status.st_dev), os.minor(status.st_dev)
        if f"{major:02x}:{minor:02x}:{status.st_ino}" in mine:
            names.append(f"a lock on {os.readlink(f'/proc/self/fd/{fd}')}")
    return names


def _held_locks(instance: Any) -> list[str]:
    """Return the locks among the model's attributes that are held."""
    names = []
    for name, value in getattr(instance, "__dict__", {}).items():
        if type(value).__module__ not in ("_thread", "threading", "multiprocessing.synchronize"):
            continue
        is_held = getattr(value, "locked", None) or getattr(value, "_is_owned", None)
        if is_held is not None and is_held():
            names.append(f"the lock self.{name}, which is held")
    return names
