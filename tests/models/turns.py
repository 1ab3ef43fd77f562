"""Loops whose jumps back to their begin CPython takes as outside of the `try` block around them."""

from contextlib import closing
from types import FunctionType


class Printing:
    def close(self) -> None:
        print("closed")


def count(n: int) -> None:
    try:
        print("begun")
        for i in range(n):
            str(i)
            if not n:
                print(i)
    finally:
        print("clean")


def compute(n: int) -> None:
    try:
        print("begun")
        while n > 1:
            n -= 1
    finally:
        print("clean")


def first(n: int) -> None:
    print("begun")
    try:
        while True:
            n -= 1
    finally:
        print("clean")


def call(n: int) -> None:
    try:
        print("begun")
        while sorted(range(50)):
            n -= 1
    finally:
        print("clean")


def nest(n: int) -> None:
    try:
        with closing(Printing()):
            try:
                print("begun")
                while n > 1:
                    n -= 1
            except BaseException:
                print("caught")
                raise
    finally:
        print("clean")


def run(how: str) -> None:
    """Run a new copy of a function, which no other prediction has run."""
    FunctionType(globals()[how].__code__.replace(), globals())(10**30)
