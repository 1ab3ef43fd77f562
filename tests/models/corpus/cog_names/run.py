"""Names of the cog package beside the usual ones, and another model that is loaded by reference."""

import logging
import os
import subprocess
import sys

from cog import BaseRunner
from cog.mode import Mode
from cog.predictor import load_predictor_from_ref
from cog.suppress_output import suppress_output
from cog.types import Path, get_filename

logging.basicConfig(stream=sys.stderr, format="%(message)s")


class Runner(BaseRunner):
    def setup(self) -> None:
        with suppress_output():
            print("setup inside")
        print("setup after")
        self.other = load_predictor_from_ref("other.py:Upper")
        self.other.setup()

    def run(self, url: str = "https://example.com/a%20cat.png") -> str:
        print("before")
        with suppress_output():
            print("inside")
            logging.error("inside")
            os.write(2, b"inside\n")
            subprocess.run(["echo", "inside"])
        print("after")
        subprocess.run(["echo", "child"])
        logging.error("logged")
        assert Path("x").name == "x"
        return f"{Mode.PREDICT} {get_filename(url)} {self.other.run('hello')}"
