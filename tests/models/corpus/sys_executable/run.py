"""sys.executable is a Python of the same environment, with the same cog."""

import json
import os
import subprocess
import sys

from cog import BaseRunner

CODE = """
import json, os, sys
import cog, run
print(json.dumps([sys.prefix, cog.__version__, run.MARK, os.getcwd()]))
"""
MARK = "model"


class Runner(BaseRunner):
    def run(self) -> list:
        import cog

        out = subprocess.run([sys.executable, "-c", CODE], capture_output=True, text=True, check=True)
        found = json.loads(out.stdout)
        wanted = [sys.prefix, cog.__version__, MARK, os.getcwd()]
        module = subprocess.run([sys.executable, "-m", "json.tool"], input="[1]", capture_output=True, text=True)
        return [found == wanted, os.path.isabs(sys.executable), json.loads(module.stdout), len(sys.argv)]
