"""A research repository's script: its options are parsed while it is imported."""

import argparse
import sys

from cog import BaseRunner

parser = argparse.ArgumentParser()
parser.add_argument("--steps", type=int, default=4)
parser.add_argument("--half", action="store_true")
options = parser.parse_args()
known, rest = parser.parse_known_args(["--steps", "9", "--unknown"])


class Runner(BaseRunner):
    def run(self) -> list:
        return [options.steps, options.half, known.steps, rest, len(sys.argv), parser.prog]
