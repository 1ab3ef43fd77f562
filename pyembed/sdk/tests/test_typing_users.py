"""Users' models and the package itself under the two type checkers that people use, strict.

The checkers run where they are installed: in one of the environments of ./build.sh test.
"""

from __future__ import annotations

import importlib.util
import json
import os
import pathlib
import subprocess
import sys

import pytest

SDK = pathlib.Path(__file__).resolve().parents[1]
MODELS = SDK / "tests" / "typed"

has_pyright = pytest.mark.skipif(importlib.util.find_spec("basedpyright") is None, reason="needs basedpyright")


@pytest.mark.parametrize("version", ["3.10", "3.14"])
def test_users_models_under_mypy(tmp_path, version):
    """As a user runs it: with nothing but --strict, and no settings of ours."""
    pytest.importorskip("mypy")
    done = subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", "--config-file", os.devnull,
         "--python-version", version, "--cache-dir", str(tmp_path / "cache"), str(MODELS)],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        env={**os.environ, "MYPYPATH": str(SDK)},
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr


@has_pyright
@pytest.mark.parametrize("version", ["3.10", "3.14"])
def test_users_models_under_pyright(tmp_path, version):
    found = pyright(
        tmp_path,
        include=[str(MODELS)],
        pythonVersion=version,
        typeCheckingMode="strict",
        reportUnnecessaryTypeIgnoreComment="error",
        reportUnusedExpression="none",
    )
    assert found == []


@has_pyright
def test_the_package_under_pyright(tmp_path):
    found = pyright(tmp_path, include=[str(SDK / "cog"), str(SDK / "coglet")])
    assert found == []


@has_pyright
def test_all_that_is_public_has_a_known_type(tmp_path):
    """Strict, except for checks of arguments that types say are right already."""
    found = pyright(
        tmp_path,
        include=[str(file) for file in (SDK / "cog").glob("*.py")],
        typeCheckingMode="strict",
        reportUnnecessaryIsInstance="none",
        reportUnnecessaryComparison="none",
        reportUnknownLambdaType="none",
        reportPrivateUsage="none",
    )
    assert found == []


def pyright(folder, **options):
    """Return what pyright finds with these settings, one line each."""
    settings = {"extraPaths": [str(SDK)], "typeCheckingMode": "standard", "pythonVersion": "3.10", **options}
    (folder / "pyrightconfig.json").write_text(json.dumps(settings))
    done = subprocess.run(
        [sys.executable, "-m", "basedpyright", "-p", str(folder), "--outputjson"],
        capture_output=True,
        text=True,
        cwd=folder,
    )
    report = json.loads(done.stdout)
    assert report["summary"]["filesAnalyzed"] > 0, done.stdout
    return [
        (pathlib.Path(found["file"]).name, found["range"]["start"]["line"] + 1, found["message"])
        for found in report["generalDiagnostics"]
        if found["severity"] == "error"
    ]
