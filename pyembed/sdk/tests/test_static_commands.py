"""What a model's import does to the machine is found without it, and stopped where it is not."""

from __future__ import annotations

import textwrap

import pytest
from programs import ask_with_output

from cog._worker.static.commands import find_commands


@pytest.fixture
def commands(tmp_path):
    """Return a function that writes files and returns the commands that the first one runs."""

    def find(source: str, files: dict[str, str] | None = None) -> list[str]:
        for name, text in {"predict.py": source, **(files or {})}.items():
            path = tmp_path / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(textwrap.dedent(text).lstrip("\n"))
        found = find_commands("predict.py", str(tmp_path))
        return [f"{command.file}:{command.line}: {command}" for command in found]

    return find


RUN = [
    "import os\nos.system('pip install x')",
    "import os\nif not os.path.exists('x'):\n    os.popen('x')",
    "from os import system\nsystem('x')",
    "import os as o\no.execv('x', [])",
    "import subprocess\ntry: import x\nexcept ImportError: subprocess.check_call(['pip'])",
    "import subprocess as sp\nwith sp.Popen(['x']) as p: pass",
    "from subprocess import run as go\nRESULT = [go(x) for x in 'ab']",
    "import pip\npip.main(['install', 'x'])",
    "from pip._internal import main\nmain(['install'])",
    "import subprocess\ndef install():\n    subprocess.run(['x'])\ninstall()",
    "import subprocess\ndef go():\n    def do(): subprocess.run(['x'])\n    do()\ngo()",
    "import subprocess\nclass Predictor:\n    VERSION = subprocess.check_output(['x'])",
    "import subprocess\nclass Predictor:\n    def __init__(self):\n        self.get()\n"
    "    def get(self):\n        subprocess.run(['x'])\n    def predict(self): ...",
    "import subprocess\nclass T:\n    def __init__(self): subprocess.run(['x'])\nT()",
    "import subprocess\ndef run(x=subprocess.run(['x'])): ...",
]
DOWNLOADS = [
    "import urllib.request\nurllib.request.urlretrieve('x', 'y')",
    "from urllib.request import urlopen\nurlopen('x')",
    "import requests\nrequests.get('x')",
    "from transformers import AutoModel\nMODEL = AutoModel.from_pretrained('x')",
    "from huggingface_hub import hf_hub_download\nhf_hub_download('x')",
    "import torch\nMODEL = torch.hub.load('x', 'y')",
]
NOTHING = [
    "import os\nos.environ['X'] = 'y'\nos.path.exists('x')",
    "import subprocess\ndef run():\n    subprocess.run(['x'])",
    "import subprocess\nGO = lambda: subprocess.run(['x'])",
    "import subprocess\nif __name__ == '__main__':\n    subprocess.run(['x'])",
    "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import pip\n    pip.main([])",
    "import subprocess\nclass Predictor:\n    def setup(self):\n        subprocess.run(['x'])",
    "import subprocess\nclass Other:\n    def __init__(self):\n        subprocess.run(['x'])",
    "def system(x): ...\nsystem('x')",
    "def run(:",
    "TEXT = " + "'a' + " * 3000 + "'b'",
    "import os\nclass Tool:\n    def get(self): os.system('x')\ndef get(): ...\nget()",
]


@pytest.mark.parametrize("source", RUN)
def test_commands_are_found(commands, source):
    (found,) = commands(source)
    assert found.endswith("(…) runs a command when the file is imported")


@pytest.mark.parametrize("source", DOWNLOADS)
def test_downloads_are_found(commands, source):
    (found,) = commands(source)
    assert found.endswith("(…) downloads when the file is imported")


@pytest.mark.parametrize("source", NOTHING)
def test_what_an_import_does_not_run_is_no_command(commands, source):
    assert commands(source) == []


def test_commands_of_the_models_other_files(commands):
    found = commands(
        """
        import sys
        from helper import fetch
        import lib.tools as tools
        from lib import late
        from cog import BasePredictor
        fetch()
        def predict(): tools.unused()
        """,
        {
            "helper.py": "import os\nimport predict\n"
            "def fetch():\n    os.system('x')\ndef other():\n    os.system('y')\n",
            "lib/__init__.py": "import os\nos.system('x')\n",
            "lib/tools.py": "import os\ndef unused():\n    os.system('x')\n",
            "lib/late.py": "import os\nos.popen('x')\n",
            "cog.py": "import os\nos.system('this is not imported')\n",
            "unrelated.py": "import os\nos.system('x')\n",
        },
    )
    assert [place.partition(" ")[0] for place in found] == ["helper.py:4:", "lib/__init__.py:2:", "lib/late.py:2:"]


UNKNOWN = "import os, random\n{}\ndef run(n: int = random.choice([3])) -> int: ...\n"


@pytest.mark.parametrize("how", ["auto", "check"])
@pytest.mark.parametrize("statement", ["os.system('touch made')", "getattr(os, 'sys' + 'tem')('touch made')"])
def test_commands_keep_a_model_from_being_imported(tmp_path, how, statement):
    """Those that are found before, and those that only running the file shows."""
    (tmp_path / "predict.py").write_text(UNKNOWN.format(statement))
    answer, _ = ask_with_output(tmp_path, "predict.py", how)
    (command,) = answer["commands"]
    assert (command["file"], command["line"]) == ("predict.py", 2)
    assert "document" not in answer
    assert not (tmp_path / "made").exists()
    answer, said = ask_with_output(tmp_path, "predict.py", how, execute=True)
    assert "document" in answer
    assert (tmp_path / "made").exists()
    if how == "auto":
        assert "predict.py:3: random.choice(…): random is not imported when the source" in said
        assert "so the model is imported" in said


def test_a_swallowed_refusal_is_one_all_the_same(tmp_path):
    statement = "try: getattr(os, 'pop' + 'en')('touch made')\nexcept BaseException: pass"
    (tmp_path / "predict.py").write_text(UNKNOWN.format(statement))
    answer, _ = ask_with_output(tmp_path, "predict.py", "auto")
    assert [c["line"] for c in answer["commands"]] == [2]
    assert "document" not in answer
    assert not (tmp_path / "made").exists()


def test_libraries_may_ask_for_the_system_but_install_nothing(tmp_path):
    library = tmp_path / "site-packages"
    library.mkdir()
    (library / "asks.py").write_text("import subprocess\nsubprocess.run(['true'], check=True)\n")
    (library / "installs.py").write_text("import subprocess\nsubprocess.run(['pip', 'install'])\n")
    (library / "calls.py").write_text(
        "import socket\nwith socket.create_server(('127.0.0.1', 0)) as s:\n"
        "    socket.create_connection(s.getsockname())\n"
    )
    head = "import sys; sys.path.append('site-packages'); import {}, random; NAME = __name__"
    for name, expected in {"asks": "", "installs": "commands", "calls": "problems"}.items():
        (tmp_path / "predict.py").write_text(UNKNOWN.format(head.format(name)))
        answer, _ = ask_with_output(tmp_path, "predict.py", "auto")
        assert [key for key in ("commands", "problems") if answer[key]] == [expected] * bool(expected)
        assert ("document" in answer) == (expected == "")
    assert "the network is blocked while a model is inspected" in answer["problems"][0]["what"]


def test_the_check_of_a_model_that_is_not_imported_finds_every_mistake(tmp_path):
    (tmp_path / "predict.py").write_text(
        "import os\nos.system('touch made')\nfrom cog import Input\n"
        "def run(\n    a: bytes,\n    b,\n    c: int = Input(default=9, le=3),\n) -> int: ...\n"
    )
    answer, _ = ask_with_output(tmp_path, "predict.py", "check")
    assert [problem["line"] for problem in answer["problems"]] == [5, 6, 7]
    assert [command["line"] for command in answer["commands"]] == [2]
    assert not (tmp_path / "made").exists()
