"""`python -m cog.server.http` becomes the server."""

from __future__ import annotations

import os
import pathlib
import subprocess
import sys

import pytest

SDK = pathlib.Path(__file__).resolve().parents[1]

# Where Cog's server listens by default.
EVERYWHERE = ["--host", "0.0.0.0"]


def start(tmp_path, *flags: str, **env: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "cog.server.http", *flags],
        env={"PYTHONPATH": str(SDK), "PATH": str(tmp_path), "PYTHONDONTWRITEBYTECODE": "1", **env},
        capture_output=True,
        text=True,
        cwd=tmp_path,
    )


@pytest.fixture
def binary(tmp_path) -> pathlib.Path:
    """Make a program that prints its arguments."""
    file = tmp_path / "pinion"
    file.write_text('#!/bin/sh\necho "$$ $PWD"\nprintf "%s\\n" "$@"\n')
    file.chmod(0o755)
    return file


@pytest.mark.parametrize(
    ("flags", "want"),
    [
        ([], EVERYWHERE),
        (["--threads", "4"], EVERYWHERE),
        (["--host=::", "--upload-url", "http://x.test/"],
         ["--host", "::", "--upload-url", "http://x.test/"]),
        (["--x-mode", "train"], [*EVERYWHERE, "--x-mode", "train"]),
        (["--await-explicit-shutdown", "true"], [*EVERYWHERE, "--await-explicit-shutdown"]),
        (["--await-explicit-shutdown=1"], [*EVERYWHERE, "--await-explicit-shutdown"]),
        (["--await-explicit-shutdown=false"], EVERYWHERE),
    ],
)  # fmt: skip
def test_flags_are_those_of_the_binary(tmp_path, binary, flags, want):
    done = start(tmp_path, *flags)
    assert done.returncode == 0, done.stderr
    _, *given = done.stdout.splitlines()
    assert given == ["serve", "--python", sys.executable, *want]


def test_it_becomes_the_binary_in_the_same_folder(tmp_path, binary):
    other = binary.rename(tmp_path / "other")
    command = [sys.executable, "-m", "cog.server.http"]
    env = {**os.environ, "PYTHONPATH": str(SDK), "PINION_BINARY": str(other)}
    process = subprocess.Popen(command, env=env, stdout=subprocess.PIPE, text=True, cwd=tmp_path)
    first = process.communicate()[0].splitlines()[0]
    assert first == f"{process.pid} {tmp_path}"


def test_the_environment_names_the_address(tmp_path, binary):
    done = start(tmp_path, PINION_HOST="127.0.0.1")
    assert done.stdout.splitlines()[1:] == ["serve", "--python", sys.executable]


def test_version(tmp_path, binary):
    assert start(tmp_path, "-v").stdout.splitlines()[1:] == ["version"]


def test_no_binary_is_said(tmp_path):
    done = start(tmp_path)
    assert done.returncode == 1
    assert "cannot find pinion on the PATH" in done.stderr
    done = start(tmp_path, PINION_BINARY="/nowhere/pinion")
    assert done.returncode == 1
    assert "cannot run /nowhere/pinion: No such file" in done.stderr


def test_what_is_wrong_is_said(tmp_path, binary):
    done = start(tmp_path, "--await-explicit-shutdown=maybe")
    assert done.returncode == 2
    assert "must be true or false, got 'maybe'" in done.stderr
