"""Running the program that reads a model's source."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path as FilePath


def ask(folder: FilePath, ref: str, how: str, train: str = ""):
    """Run the program that the command runs, which also keeps what a model does at import away."""
    return ask_with_output(folder, ref, how, train)[0]


def ask_with_output(folder: FilePath, ref: str, how: str, train: str = ""):
    """Do the same, and return what the program wrote besides its answer as well."""
    request = json.dumps({"root": str(folder), "ref": ref, "train": train, "how": how})
    sdk = str(FilePath(__file__).resolve().parents[1])
    code = f"import sys; sys.path[:1] = [{sdk!r}]\nfrom cog._worker.static.main import main; main()"
    command = [sys.executable, "-c", code, request]
    done = subprocess.run(command, cwd=folder, capture_output=True, check=True, timeout=60)
    return json.loads(done.stdout), done.stderr.decode()
