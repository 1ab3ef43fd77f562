"""Ways in which a model leaves that are not errors elsewhere."""

import sys

from cog import BaseRunner, CancelationException


class Mine(BaseException):
    pass


class Runner(BaseRunner):
    def run(self, how: str) -> str:
        print("how", how)
        if how == "exit":
            sys.exit("no GPU")
        if how == "exit 0":
            sys.exit()
        if how == "quit":
            quit(2)
        if how == "interrupt":
            raise KeyboardInterrupt
        if how == "cancel":
            raise CancelationException
        if how == "generator":
            raise GeneratorExit
        if how == "mine":
            raise Mine("own")
        if how == "stop":
            next(iter(()))
        if how == "assert":
            assert how == "", "an assertion"
        if how == "cause":
            try:
                raise OSError(2, "No such file", "weights")
            except OSError as error:
                raise RuntimeError("cannot load") from error
        if how == "group" and sys.version_info >= (3, 11):
            raise ExceptionGroup("two", [ValueError(1), TypeError("b")])  # noqa: F821
        return how
