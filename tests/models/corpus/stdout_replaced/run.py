"""A model that puts its stream in front of sys.stdout, at import and in a prediction."""

import contextlib
import io
import sys

from cog import BaseRunner


class Tee:
    """What many scripts do to keep a copy of what they print."""

    def __init__(self, stream) -> None:
        self.stream, self.kept = stream, []

    def write(self, text: str) -> int:
        self.kept.append(text)
        return self.stream.write(text)

    def flush(self) -> None:
        self.stream.flush()

    def __getattr__(self, name):
        return getattr(self.stream, name)


sys.stdout = Tee(sys.stdout)


class Runner(BaseRunner):
    def run(self, how: str = "tee") -> str:
        sys.stdout.kept.clear()
        print("teed")
        if how == "redirect":
            with contextlib.redirect_stdout(io.StringIO()) as caught:
                print("caught")
            print("then", caught.getvalue(), end="")
        elif how == "original":
            sys.__stdout__.write("past the tee\n")
        elif how == "close":
            sys.stderr.close()
            print("stderr is closed")
        elif how == "reconfigure":
            sys.stdout.reconfigure(encoding="utf-8", errors="replace", line_buffering=True)
            print("reconfigured \udc80")
        elif how == "wrapper":
            wrapper = io.TextIOWrapper(sys.stdout.buffer, "utf-8", write_through=True)
            print("wrapped ü", file=wrapper)
            wrapper.detach()
        return "".join(sys.stdout.kept)
