"""Synchronous models that try the worker's patience."""

import ctypes
import os
import resource
import sys
import threading

from cog import BaseRunner, current_scope


class Unprintable(Exception):
    """Cannot even be looked at."""

    def __str__(self) -> str:
        raise SystemExit(3)


class Anonymous(type):
    """A class that does not tell its name."""

    def __getattribute__(cls, name: str) -> object:
        raise SystemExit(3)


class Runner(BaseRunner):
    def setup(self) -> None:
        self.descriptors: list[int] = []

    def run(self, what: str = "nothing") -> object:
        return getattr(self, what)()

    def nothing(self) -> str:
        return "nothing"

    def huge_metric(self) -> str:
        current_scope().record_metric("count", 10**200000)
        return "not to be seen"

    def huge_metric_and_error(self) -> None:
        current_scope().record_metric("count", 10**200000)
        raise ValueError("the model's own")

    def unprintable(self) -> None:
        raise Unprintable

    def unnamed(self) -> None:
        raise Anonymous("Unnamed", (Exception,), {})()

    def no_output(self) -> object:
        return object()

    def stderr_that_exits(self) -> None:
        class Stream:
            def write(self, text: str) -> None:
                raise SystemExit(9)

            flush = close = lambda self: self.write("")

        sys.stderr = Stream()  # type: ignore[assignment]
        raise ValueError("unheard")

    def stderr_restored(self) -> None:
        sys.stderr = sys.__stderr__

    def print_and_raise(self) -> None:
        print("printed first")
        raise ValueError("raised last")

    def write_context(self) -> list:
        context = current_scope().context
        before = list(context)
        context["of another prediction"] = "1"
        return before

    def read_from_c(self) -> str:
        """Leaves a thread behind that waits in C's stdio, with the lock of its stream."""
        libc = ctypes.CDLL(None)
        libc.fdopen.restype = ctypes.c_void_p
        reading, self.writing = os.pipe()
        file = ctypes.c_void_p(libc.fdopen(reading, b"r"))
        text = ctypes.create_string_buffer(10)
        thread = threading.Thread(target=libc.fgets, args=(text, 10, file), daemon=True)
        thread.start()
        state = ""
        while state != "S":  # it sleeps, with the lock
            with open(f"/proc/self/task/{thread.native_id}/stat") as stat:
                state = stat.read().rpartition(")")[2].split()[0]
        return "answered"

    def grandchild(self) -> str:
        """The files that a child opened are there in its own child."""
        reading, writing = os.pipe()
        pid = os.fork()
        if pid == 0:
            opened = [fd for _ in range(4) for fd in os.pipe()]
            if os.fork() == 0:
                closed = []
                for fd in opened:
                    try:
                        os.fstat(fd)
                    except OSError:
                        closed.append(fd)
                os.write(writing, repr(closed).encode())
                os._exit(0)
            os.wait()
            os._exit(0)
        os.close(writing)
        os.waitpid(pid, 0)
        with os.fdopen(reading) as file:
            return file.read()

    def exit_with_a_message(self) -> int:
        pid = os.fork()
        if pid == 0:
            sys.exit("the child's last words")
        return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])

    def no_descriptors(self) -> str:
        """A body so large that it takes a file, where there can be none."""
        resource.setrlimit(resource.RLIMIT_NOFILE, (200, 200))
        try:
            while True:
                self.descriptors.append(os.dup(0))
        except OSError:
            return "x" * (17 << 20)

    def free_descriptors(self) -> None:
        for fd in self.descriptors:
            os.close(fd)

    def memory(self) -> int:
        import _px

        return _px.memory()[0]


class SetupWithoutStderr(BaseRunner):
    def setup(self) -> None:
        sys.stderr = None  # type: ignore[assignment]
        raise ValueError("setup's own")

    def run(self) -> None:
        pass
