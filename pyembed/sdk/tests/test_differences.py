"""What in a model's source would behave differently than in Cog."""

from __future__ import annotations

import json
import sys

import pytest

from cog._worker.model import differences


@pytest.fixture
def found(tmp_path, monkeypatch, capsys):
    """Return a function that looks at a source and returns lines and texts."""

    def look(source, packages=(), name="run.py"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(source)
        request = {"root": str(tmp_path), "packages": list(packages)}
        monkeypatch.setattr(sys, "argv", ["", json.dumps(request)])
        differences.main()
        answer = json.loads(capsys.readouterr().out)
        assert all(d["file"] == name and d["fix"] for d in answer)
        return [(d["line"], d["what"]) for d in answer]

    return look


@pytest.mark.parametrize(
    ("source", "text"),
    [
        ("import requests\n", "requests comes with Cog"),
        ("from yaml import load\n", "yaml comes with Cog"),
        ("from cog.server.worker import Worker\n", "cog.server.worker is internal to Cog"),
        ("import cog.command.ast\n", "cog.command.ast is internal"),
        ("from cog import Nothing\n", "cog.Nothing is not part of"),
        ("import signal\nsignal.signal(signal.SIGUSR1, print)\n", "Pinion cancels predictions by SIGUSR1"),
        ("CACHE = '/root/.cache'\n", "/root/.cache: Cog's image runs as root"),
        ("import os\nos.system('apt-get install -y git')\n", "`apt-get install -y git`"),
        ("import subprocess\nsubprocess.run(['pip', 'install', 'x'])\n", "`pip install x`"),
        ("import torch\nf = torch.compile(print)\n", "torch.compile needs a C compiler"),
    ],
)
def test_a_difference(found, source, text):
    [(line, what)] = found(source)
    assert what.startswith(text)
    assert line == source.count("\n")


def test_no_difference(found):
    source = "from cog import BaseRunner, Path\nfrom cog.server.exceptions import *\n"
    source += "import requests\nfrom . import yaml\nx = '/root'\n"
    assert found(source, ["Requests"]) == []


def test_a_file_that_is_not_python(found):
    [(line, what)] = found("x = 1\nnot Python at all\n")
    assert line == 2
    assert what.endswith("cannot read it: invalid syntax")


def test_folders_that_are_left_out(found, tmp_path):
    (tmp_path / "env").mkdir()
    (tmp_path / "env" / "pyvenv.cfg").write_text("")
    assert found("import yaml\n", name="env/a.py") == []
    assert found("import yaml\n", name=".git/a.py") == []
