"""A pool of processes made by os.fork in setup, spoken to over pipes."""

import json
import os

from cog import BaseRunner


class Child:
    def __init__(self, number: int) -> None:
        self.read, write = os.pipe()
        read, self.write = os.pipe()
        self.pid = os.fork()
        if self.pid == 0:
            os.close(self.read)
            os.close(self.write)
            self.serve(number, os.fdopen(read), os.fdopen(write, "w"))
        os.close(read)
        os.close(write)
        self.requests, self.answers = os.fdopen(self.write, "w"), os.fdopen(self.read)

    def serve(self, number, requests, answers) -> None:
        for line in requests:
            answers.write(json.dumps([number, json.loads(line) ** 2]) + "\n")
            answers.flush()
        os._exit(0)

    def ask(self, x: int) -> list:
        self.requests.write(json.dumps(x) + "\n")
        self.requests.flush()
        return json.loads(self.answers.readline())


class Runner(BaseRunner):
    def setup(self) -> None:
        self.children = [Child(n) for n in range(3)]

    def run(self, xs: list[int]) -> list:
        return [self.children[i % 3].ask(x) for i, x in enumerate(xs)]
