"""The program that reads a model's source, in its own process."""

from __future__ import annotations

import os

import pytest
from programs import ask, ask_with_output


def test_the_program_falls_back_to_the_import(tmp_path):
    (tmp_path / "run.py").write_text("import random\ndef run(n: int = random.choice([3])) -> int: ...\n")
    assert ask(tmp_path, "run.py", "static")["refusals"] == [
        "run.py:2: random.choice(…): random is not imported when the source is only read"
    ]
    answer = ask(tmp_path, "run.py", "auto")
    assert answer["how"] == "import"
    properties = answer["document"]["components"]["schemas"]["Input"]["properties"]
    assert properties["n"]["default"] == 3


def test_the_program_keeps_what_is_read_inside(tmp_path):
    (tmp_path / "run.py").write_text(
        """
import pathlib
from cog import Path
pathlib.Path("made").mkdir()
Path("written").write_text("x")
print("this is not JSON")
def run(n: int = 1) -> int: ...
"""
    )
    assert "document" in ask(tmp_path, "run.py", "static")
    assert [file.name for file in tmp_path.iterdir()] == ["run.py"]


# Statements that would change something outside of the process; `os` is Python's own, by a detour.
OUTSIDE = """
open("made", "w")
open("kept", "r+").write("x")
io.open("made", "w")
io.FileIO("made", "w")
pathlib.Path("made").touch()
pathlib.Path("made").write_bytes(b"x")
pathlib.Path("kept").unlink()
pathlib.Path("kept").rename("made")
pathlib.Path("kept").chmod(0o777)
pathlib.Path("made").symlink_to("kept")
cog.Path("made").mkdir(parents=True)
json.dump({}, open("made", "w"))
os.open("made", os.O_CREAT)
os.open("kept", os.O_TRUNC)
os.link("kept", "made")
os.truncate("kept", 0)
os.utime("kept", (1, 1))
os.mkfifo("made")
os.mknod("made")
os.system("touch made")
os.popen("touch made").read()
os.posix_spawn("/bin/touch", ["touch", "made"], {})
os.execv("/bin/touch", ["touch", "made"])
os.fork()
os.kill(os.getppid(), 10)
os.setpriority(os.PRIO_PROCESS, os.getppid(), 19)
os.write(1, b"LEAK"), os.write(2, b"LEAK")
os.writev(2, [b"LEAK"])
[os.write(number, b"LEAK") for number in range(3, 20)]
os._exit(3)
os.abort()
print("LEAK")
sys.stderr.write("LEAK")
sys.exit(3)
raise SystemExit
exec("open('made', 'w')")
subprocess.run(["touch", "made"])
shutil.copy("kept", "made")
urllib.request.urlretrieve("http://127.0.0.1:9/", "made")
load("subprocess").run(["touch", "made"])
load("ctypes").CDLL(None).system(b"touch made")
load("socket").create_connection(("127.0.0.1", 9))
load("sqlite3").connect("made")
load("tempfile").mkdtemp(dir=".")
load("shutil").copy("kept", "made")
cog.Path.validate("http://127.0.0.1:9/made")
cog.suppress_output.suppress_output().__enter__()
type("Writing", (), {"__del__": lambda self: open("made", "w")})()
class InItsBody: open("made", "w")
class InAMember(io.FileIO, enum.Enum): A = "made", "w"
MADE = sorted(["made"], key=os.mkdir)
FIELD = dataclasses.field(default_factory=os.abort)
Quoted = list["open('made', 'w')"]
def annotated(a: Quoted = None, b: "os.mkdir('made')" = None, c: list["os.mkdir('made')"] = None): ...
class InADecorator: here = property(open("made", "w"))
def in_a_default(file=open("made", "w")): ...
with open("made", "w") as file: ...
for _ in [0]: open("made", "w")
if True: open("made", "w")
try: open("made", "w")
except BaseException: pass
finally: open("made", "w")
from helper import N
[setattr(inspect.sys, "audit", print), load("subprocess").run(["touch", "made"])]
"""


def test_the_static_reading_changes_nothing_outside_of_its_process(tmp_path):
    source = (
        "import dataclasses, enum, inspect, io, json, os, pathlib, shutil, subprocess, sys, urllib.request, cog\n"
        "import cog.suppress_output\nload, os = inspect.importlib.import_module, inspect.os\n"
        f"{OUTSIDE}def run(n: int = N) -> int: ...\n"
    )
    (tmp_path / "run.py").write_text(source)
    (tmp_path / "helper.py").write_text("open('made', 'w')\nN = 3\n")
    (tmp_path / "kept").write_text("kept")
    before = {file.name: (file.stat(), file.read_bytes()) for file in tmp_path.iterdir()}
    priority = os.getpriority(os.PRIO_PROCESS, 0)
    answer, said = ask_with_output(tmp_path, "run.py", "static")
    schemas = answer["document"]["components"]["schemas"]
    assert schemas["Input"]["properties"]["n"]["default"] == 3
    assert "LEAK" not in said
    assert {f.name: f.read_bytes() for f in tmp_path.iterdir()} == {n: b for n, (_, b) in before.items()}
    for name, (was, _) in before.items():
        now = (tmp_path / name).stat()
        assert (now.st_ino, now.st_mode, now.st_mtime) == (was.st_ino, was.st_mode, was.st_mtime)
    assert os.getpriority(os.PRIO_PROCESS, 0) == priority


def test_what_a_model_leaves_behind_changes_nothing_either(tmp_path):
    (tmp_path / "run.py").write_text("""
import inspect, pathlib
from cog import BaseModel

def make(*_):
    pathlib.Path("made").write_text("x")
    return int

class Writing:
    __del__ = make

KEPT = Writing()

def waits():
    try:
        yield
    finally:
        make()

STOPPED = waits()
next(STOPPED)
inspect.importlib.import_module("atexit").register(make)
inspect.importlib.import_module("threading").Timer(0, make).start()

class Runner:
    kept = Writing()
    __del__ = make

    def run(self, n: int = 3) -> int: ...
""")
    answer, said = ask_with_output(tmp_path, "run.py", "static")
    assert answer["document"]["components"]["schemas"]["Input"]["properties"]["n"]["default"] == 3
    assert [file.name for file in tmp_path.iterdir()] == ["run.py"]
    assert "ignored" not in said  # the refusals in a `__del__` are not news


def test_the_program_takes_trainings(tmp_path):
    (tmp_path / "run.py").write_text("def run(n: int) -> int: ...\ndef train(m: int) -> str: ...\n")
    schemas = ask(tmp_path, "run.py", "static", "run.py:train")["document"]["components"]["schemas"]
    assert list(schemas["TrainingInput"]["properties"]) == ["m"]


def test_the_program_finds_every_mistake(tmp_path):
    (tmp_path / "run.py").write_text(
        "from cog import Input\n"
        "def run(\n    a: bytes,\n    b,\n    c: int = Input(default=9, le=3),\n    d: int = 1,\n"
        ") -> 'int | None': ...\n"
    )
    problems = ask(tmp_path, "run.py", "check")["problems"]
    assert [(p["file"], p["line"]) for p in problems] == [("run.py", n) for n in (3, 4, 5, 7)]
    assert problems[0]["fix"] == "use cog.Path for binary data"


def test_the_program_reports_what_an_import_raises(tmp_path):
    (tmp_path / "run.py").write_text("\nimport not_there_at_all\n")
    (problem,) = ask(tmp_path, "run.py", "check")["problems"]
    assert (problem["file"], problem["line"]) == ("run.py", 2)
    assert problem["fix"].endswith(" not_there_at_all`")


def test_the_program_ends_what_takes_too_much_memory(tmp_path):
    (tmp_path / "run.py").write_text(
        "import pathlib\nBIG = [0] * 10**10\nN = 3\n"
        "with open('/dev/zero') as f: DATA = f.read()\n"
        "DATA = pathlib.Path('/dev/zero').read_bytes()\n"
        "def run(n: int = N) -> int: ...\n"
    )
    assert "document" in ask(tmp_path, "run.py", "static")


def test_a_reading_that_takes_too_long_is_ended(monkeypatch):
    from cog._worker.static import sandbox

    monkeypatch.setattr(sandbox, "_LIMITS", ((sandbox.resource.RLIMIT_CPU, 1),))
    monkeypatch.setattr(sandbox, "_CPU_SECONDS", 1)
    with pytest.raises(sandbox.Refusal, match="SIGKILL ended the reading"):
        sandbox.run_sandboxed(lambda: sum(range(10**15)))
    with pytest.raises(sandbox.Refusal, match="the model's code ended the reading"):
        sandbox.run_sandboxed(lambda: os._exit(3))
    with pytest.raises(sandbox.Refusal, match="ValueError: invalid literal"):
        sandbox.run_sandboxed(lambda: int("no"))
