"""A filter of system calls for the process that reads a source: those that only read and compute.

The kernel refuses all others with EPERM, from any code. Without seccomp, there is only the audit
hook of `sandbox`.
"""

from __future__ import annotations

import errno
import os
import struct

# Numbers of allowed calls, on x86-64 and on 64-bit ARM; 0 where the processor has none.
_ALLOWED = {
    "read": (0, 63),
    "write": (1, 64),  # no file that outlasts the process is open for writing
    "close": (3, 57),
    "stat": (4, 0),
    "fstat": (5, 80),
    "lstat": (6, 0),
    "poll": (7, 0),
    "lseek": (8, 62),
    "mmap": (9, 222),
    "mprotect": (10, 226),
    "munmap": (11, 215),
    "brk": (12, 214),
    "rt_sigaction": (13, 134),
    "rt_sigprocmask": (14, 135),
    "rt_sigreturn": (15, 139),
    "pread64": (17, 67),
    "readv": (19, 65),
    "writev": (20, 66),
    "access": (21, 0),
    "pipe": (22, 0),
    "select": (23, 0),
    "sched_yield": (24, 124),
    "mremap": (25, 216),
    "madvise": (28, 233),
    "dup": (32, 23),
    "dup2": (33, 0),
    "nanosleep": (35, 101),
    "getitimer": (36, 102),
    "setitimer": (38, 103),
    "getpid": (39, 172),
    "exit": (60, 93),
    "uname": (63, 160),
    "getdents": (78, 0),
    "getcwd": (79, 17),
    "readlink": (89, 0),
    "gettimeofday": (96, 169),
    "getrlimit": (97, 163),
    "getrusage": (98, 165),
    "sysinfo": (99, 179),
    "times": (100, 153),
    "getuid": (102, 174),
    "getgid": (104, 176),
    "geteuid": (107, 175),
    "getegid": (108, 177),
    "getppid": (110, 173),
    "sigaltstack": (131, 132),
    "arch_prctl": (158, 0),
    "gettid": (186, 178),
    "time": (201, 0),
    "futex": (202, 98),
    "sched_getaffinity": (204, 123),
    "getdents64": (217, 61),
    "restart_syscall": (219, 128),
    "clock_gettime": (228, 113),
    "clock_getres": (229, 114),
    "clock_nanosleep": (230, 115),
    "exit_group": (231, 94),
    "newfstatat": (262, 79),
    "readlinkat": (267, 78),
    "faccessat": (269, 48),
    "pselect6": (270, 72),
    "ppoll": (271, 73),
    "dup3": (292, 24),
    "pipe2": (293, 59),
    "getcpu": (309, 168),
    "getrandom": (318, 278),
    "membarrier": (324, 283),
    "statx": (332, 291),
    "rseq": (334, 293),
    "close_range": (436, 436),
    "faccessat2": (439, 439),
}
_WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC
# Allowed with some arguments: the numbers, the argument's place, bits that it may not have, values
# of which it must have one.
_CONDITIONS: dict[str, tuple[tuple[int, int], int, int, tuple[int, ...]]] = {
    "open": ((2, 0), 1, _WRITING, ()),
    "openat": ((257, 56), 2, _WRITING, ()),
    "ioctl": ((16, 29), 1, 0, (0x5401, 0x5450, 0x5451)),  # TCGETS, FIONCLEX, FIOCLEX
    "fcntl": ((72, 25), 1, 0, (0, 1, 2, 3, 1030)),  # F_DUPFD to F_GETFL, F_DUPFD_CLOEXEC
    "prlimit64": ((302, 261), 0, 0, (0,)),  # of this process
}
_MACHINES = {"x86_64": (0, 0xC000003E), "aarch64": (1, 0xC00000B7)}  # column, AUDIT_ARCH
_LOAD, _EQUAL, _ANY_BIT, _RETURN = 0x20, 0x15, 0x45, 0x06
_ALLOW, _REFUSE = 0x7FFF0000, 0x00050000 | errno.EPERM
_NUMBER_AT, _ARCH_AT, _ARGUMENTS_AT = 0, 4, 16  # in struct seccomp_data
_PR_SET_NO_NEW_PRIVS, _PR_SET_SECCOMP, _SECCOMP_MODE_FILTER = 38, 22, 2


def filter_calls() -> bool:
    """Filter the calls of this process from now on; return whether the kernel does."""
    machine = _MACHINES.get(os.uname().machine)
    try:
        import ctypes
    except ImportError:  # a Python without libffi
        return False
    if machine is None:
        return False
    steps = program(*machine)
    code = ctypes.create_string_buffer(b"".join(steps), sum(map(len, steps)))
    # struct sock_fprog, whose pointer is aligned
    sock_fprog = struct.pack("@HP", len(steps), ctypes.addressof(code))
    prctl = ctypes.CDLL(None).prctl
    prctl.argtypes = [ctypes.c_int, *[ctypes.c_ulong] * 4]
    given = ctypes.create_string_buffer(sock_fprog, len(sock_fprog))
    prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
    filtering = _PR_SET_SECCOMP, _SECCOMP_MODE_FILTER, ctypes.addressof(given), 0, 0
    return bool(prctl(*filtering) == 0)


def program(column: int, arch: int) -> list[bytes]:
    """Return the filter's instructions for a processor (linux/filter.h)."""
    steps = [_step(_LOAD, _ARCH_AT), _step(_EQUAL, arch, 1, 0), _step(_RETURN, _REFUSE)]
    steps.append(_step(_LOAD, _NUMBER_AT))
    allow, refuse = _step(_RETURN, _ALLOW), _step(_RETURN, _REFUSE)
    for numbers in _ALLOWED.values():
        if numbers[column] or numbers == _ALLOWED["read"]:
            steps += [_step(_EQUAL, numbers[column], 0, 1), allow]
    for numbers, argument, forbidden, values in _CONDITIONS.values():
        if not numbers[column]:
            continue
        checks = [_step(_LOAD, _ARGUMENTS_AT + 8 * argument)]  # its lower half
        if forbidden:
            checks += [_step(_ANY_BIT, forbidden, 0, 1), refuse, allow]
        for value in values:
            checks += [_step(_EQUAL, value, 0, 1), allow]
        checks.append(refuse)
        steps += [_step(_EQUAL, numbers[column], 0, len(checks)), *checks]
    return [*steps, refuse]


def _step(code: int, value: int, if_true: int = 0, if_false: int = 0) -> bytes:
    return struct.pack("=HBBI", code, if_true, if_false, value)
