"""Writes down what it begins and what it has done, as fast as can be."""

import os

from cog import BaseRunner


class Runner(BaseRunner):
    def setup(self) -> None:
        self.file = os.open("ledger.txt", os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)

    def run(self, token: str = "") -> str:
        if token:
            os.write(self.file, f"begun {token}\n".encode())
            os.write(self.file, f"done {token}\n".encode())
        return token
