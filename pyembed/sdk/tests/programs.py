"""Running code, and the program that reads a model's source, in fresh interpreters."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path as FilePath

SDK = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


def python(code: str, *args: str, flags=(), cwd="/") -> subprocess.CompletedProcess[str]:
    """Run code that finds the package; return what it wrote."""
    done = subprocess.run(
        [sys.executable, *flags, "-c", code, *args],
        env={**os.environ, "PYTHONPATH": SDK},
        capture_output=True,
        text=True,
        cwd=cwd,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    return done


def ask(folder: FilePath, ref: str, how: str, train: str = ""):
    """Run the program that the command runs, which also keeps what a model does at import away."""
    return ask_with_output(folder, ref, how, train)[0]


def ask_with_output(folder: FilePath, ref: str, how: str, train: str = "", **more: object):
    """Do the same, and return what the program wrote besides its answer as well."""
    request = {"root": str(folder), "ref": ref, "train": train, "how": how, **more}
    code = "import sys; del sys.path[0]\nfrom cog._worker.static.main import main; main()"
    done = python(code, json.dumps(request), cwd=folder)
    return json.loads(done.stdout), done.stderr
