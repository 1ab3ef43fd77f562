"""The package as a type checker sees it."""

import pathlib
import subprocess
import sys

import pytest

SDK = pathlib.Path(__file__).resolve().parents[1]


def test_mypy_strict(tmp_path):
    pytest.importorskip("mypy")
    done = subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", "--cache-dir", str(tmp_path),
         "--config-file", str(SDK / "pyproject.toml"), str(SDK / "tests" / "typed_model.py")],
        capture_output=True, text=True, cwd=SDK,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout
