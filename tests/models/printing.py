"""Text from everywhere, in an order that must be kept."""

import ctypes
import logging
import os
import subprocess
import sys
import threading
import warnings

from cog import BaseRunner

libc = ctypes.CDLL(None)
logging.basicConfig(stream=sys.stderr, level=logging.INFO, format="%(levelname)s %(message)s")


class Runner(BaseRunner):
    def setup(self) -> None:
        print("setup out")
        os.write(1, b"setup raw\n")
        libc.puts(b"setup C")
        print("setup err", file=sys.stderr)
        print("setup end")

    def run(self, what: str, n: int = 1) -> str:
        getattr(self, what)(n)
        return "done"

    def mixed(self, n: int) -> None:
        """Python's two streams, written in turns."""
        for i in range(n):
            print("out", i)
            print("err", i, file=sys.stderr)

    def sources(self, n: int) -> None:
        """Every kind of writer to stdout, one after another; C's buffer is flushed as C code does."""
        print("1 print")
        sys.stdout.flush()
        os.write(1, b"2 write\n")
        libc.printf(b"3 printf\n")
        libc.fflush(None)
        subprocess.run(["echo", "4 subprocess"], check=True)
        thread = threading.Thread(target=print, args=("5 thread",))
        thread.start()
        thread.join()
        subprocess.run([sys.executable, "-c", "print('6 python')"], check=True)
        os.system("echo 7 system")
        print("8 no newline", end="")

    def late_c(self, n: int) -> None:
        """C text that is never flushed belongs to this prediction all the same."""
        libc.printf(b"from C, unflushed\n")

    def logs(self, n: int) -> None:
        logging.info("logged")
        warnings.warn("careful", stacklevel=1)

    def big(self, n: int) -> None:
        """More than a pipe holds."""
        for i in range(n):
            print(i, "x" * 1000)

    def raw(self, n: int) -> None:
        os.write(1, b"caf\xc3\xa9 \xff\xfe \x00 \x1b[31m\n")
        print("\ud800 lone")

    def silent(self, n: int) -> None:
        pass

    def child(self, n: int) -> None:
        """Children that write to one stream and then to the other."""
        subprocess.run(["sh", "-c", "echo child out; echo child again"], check=True)
        print("between", file=sys.stderr)
        subprocess.run(["sh", "-c", "echo child err >&2"], check=True)
        print("after")

    def replaced(self, n: int) -> None:
        """A model that sets its own streams for a while."""
        import contextlib
        import io

        captured = io.StringIO()
        with contextlib.redirect_stdout(captured):
            print("captured")
        print("seen", repr(captured.getvalue()))

    def turns(self, n: int) -> None:
        """Both streams in quick turns, without a word from Python's."""
        for i in range(n):
            os.write(1, b"out %d\n" % i)
            os.write(2, b"err %d\n" % i)

    def accents(self, n: int) -> None:
        print("grün \U0001f600")
