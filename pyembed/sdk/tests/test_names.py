"""Names of Cog's package that few models import."""

from __future__ import annotations

import sys

import pytest
from programs import python
from test_import import loaded_by

from cog.errors import LoadError
from cog.mode import Mode
from cog.predictor import BaseRunner, load_predictor_from_ref
from cog.types import FILENAME_ILLEGAL_CHARS, FILENAME_MAX_LENGTH, get_filename


@pytest.mark.parametrize(
    ("url", "name"),
    [
        ("https://a.test/b/c.png?x=1#f", "c.png"),
        ("https://a.test/", ""),
        ("https://a.test", ""),
        ("https://a.test/x%20y.tar.gz", "x y.tar.gz"),
        ("https://a.test/%2Fx%00y.png", "_x_y.png"),
        ("https://a.test/a:b?.png", "a:b"),
        ("data:image/png;base64,AAAA", "file.png"),
        ("DATA:text/plain;charset=utf-8,hi", "file.txt"),
        ("data:,hi", "file.txt"),
        ("data:application/x-nothing,hi", "file"),
        ("https://a.test/" + "x" * 300 + ".png", "x" * 195 + "~.png"),
        ("https://a.test/" + "é" * 300 + ".png", "é" * 97 + "~.png"),
        ("https://a.test/x." + "y" * 300, "x." + "y" * 197 + "~"),
    ],
)
def test_get_filename(url, name):
    assert get_filename(url) == name
    assert len(name.encode()) <= FILENAME_MAX_LENGTH
    assert not FILENAME_ILLEGAL_CHARS & set(name)


def test_mode():
    assert [(mode.name, mode.value, str(mode)) for mode in Mode] == [
        ("PREDICT", "predict", "predict"),
        ("TRAIN", "train", "train"),
    ]


def test_a_model_loads_another(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    (tmp_path / "named_other.py").write_text(
        "from cog import BaseRunner\n"
        "class Runner(BaseRunner):\n"
        "    def setup(self): raise RuntimeError('not asked for')\n"
        "    def run(self, anything) -> 'Unknown': return anything\n"
        "def train(n): return n\n"
        "number = 3\n"
    )
    for ref in ("named_other.py:Runner", "./named_other.py:Runner", "named_other.py"):
        runner = load_predictor_from_ref(ref)
        assert isinstance(runner, BaseRunner)
        assert runner.run(anything=1) == 1
    assert load_predictor_from_ref("named_other.py:train")(2) == 2
    for ref in ("named_other.py:Nope", "named_other.py:number", "nowhere.py:Runner"):
        with pytest.raises(LoadError, match=ref.replace(":Nope", "").replace(":Runner", "")):
            load_predictor_from_ref(ref)
    sys.modules.pop("named_other")


NOISE = """
import ctypes, logging, os, subprocess, sys
from cog.suppress_output import suppress_output
logging.basicConfig(stream=sys.stderr)
libc = ctypes.CDLL(None)
def noise(word):
    print(word, "out"); print(word, "err", file=sys.stderr); os.write(1, f"{word} raw\\n".encode())
    libc.printf(f"{word} C\\n".encode()); logging.error(word)
    subprocess.run(["echo", word, "child"])
subprocess.run(["true"]); files = len(os.listdir("/proc/self/fd"))  # libffi may keep one open
sys.stdout.write("before "); libc.printf(b"C before ")
streams = sys.stdout, sys.stderr
try:
    with suppress_output():
        noise("inside")
        raise KeyError
except KeyError:
    assert (sys.stdout, sys.stderr) == streams
    with suppress_output():
        with suppress_output():
            noise("nested")
        noise("nested")
noise("after")
assert len(os.listdir("/proc/self/fd")) == files
"""


def test_suppress_output_drops_all_that_is_written_inside():
    done = python(NOISE)
    text = done.stdout + done.stderr
    assert "inside" not in text
    assert "nested" not in text
    for part in ("before ", "C before ", "after out", "after err", "after raw", "after C",
                 "ERROR:root:after", "after child"):  # fmt: skip
        assert text.count(part) >= 1, (part, text)


OVERLAPPING = """
from cog.suppress_output import suppress_output
one, two = suppress_output(), suppress_output()
one.__enter__(); two.__enter__()
one.__exit__(None, None, None); print("inside")
two.__exit__(None, None, None); print("after")
"""


def test_silences_of_two_predictions_may_overlap():
    done = python(OVERLAPPING)
    assert done.stdout == "after\n"


def test_they_cost_who_does_not_use_them_nothing():
    assert "cog._filename" not in loaded_by("import cog.types")
    for name in ("mode", "suppress_output", "server"):
        assert f"cog.{name}" not in loaded_by("from cog import BaseRunner, Input, predictor")
