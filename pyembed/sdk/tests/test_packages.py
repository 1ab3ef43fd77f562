"""Whether what a requirements file asks for is installed."""

from __future__ import annotations

import importlib
import json
import sys
from importlib import metadata

import pytest

from cog._worker.model import packages

VERSION = metadata.version("pytest")


@pytest.fixture(params=["packaging", "nothing"])
def parser(request, monkeypatch):
    """Compare versions with the package `packaging`, and where there is none."""
    if request.param == "nothing":
        monkeypatch.setattr(packages, "_packaging", lambda: None)
    return request.param


@pytest.mark.parametrize(
    "text",
    [
        "pytest",
        "PyTest",
        "pytest[dev]",
        f"pytest=={VERSION}",
        f"pytest == {VERSION}",
        "pytest>=1",
        "cog==0.0.1",
        "coglet",
        "no-such-package; python_version < '3'",
    ],
)
def test_what_is_met(parser, text):
    assert packages.missing(text) == ""


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("no-such-package", "no-such-package is not installed"),
        ("No_Such.Package[x]>=2", "No_Such.Package is not installed"),
        ("pytest==0.1", f"pytest {VERSION} is installed, but pytest==0.1 is required"),
    ],
)
def test_what_is_missing(parser, text, what):
    assert packages.missing(text) == what


def test_versions_need_the_package_packaging():
    assert packages.missing("pytest<1").endswith("is installed, but pytest<1 is required")
    assert packages.missing(f"pytest!={VERSION}") != ""
    assert packages.missing("not a requirement !!") == ""


def test_many_requirements_are_bounded_work(tmp_path, monkeypatch, capsys):
    imported, checked = [], []
    import_module, missing = importlib.import_module, packages.missing
    monkeypatch.setattr(importlib, "import_module", lambda n: imported.append(n) or import_module(n))
    monkeypatch.setattr(packages, "missing", lambda text: checked.append(text) or missing(text))
    (tmp_path / "requirements.txt").write_text("pytest\n" * 30_000)
    request = {"root": str(tmp_path), "requirements": "requirements.txt", "packages": []}
    monkeypatch.setattr(sys, "argv", ["", json.dumps(request)])
    packages.main()
    (problem,) = json.loads(capsys.readouterr().out)
    assert (problem["file"], problem["line"]) == ("requirements.txt", 10_001), problem
    assert problem["what"] == "only the first 10000 requirements are checked, which end here", problem
    assert len(checked) == 10_000
    assert len(imported) <= 3, imported[:10]


def test_continued_lines_are_copied_once(monkeypatch):
    copied = []

    class Line(str):
        __slots__ = ()

        def __radd__(self, before):
            copied.append(len(before))
            return Line(str(before) + str(self))

        def __getitem__(self, key):
            copied.append(len(self))
            return Line(super().__getitem__(key))

    class Text(str):
        __slots__ = ()

        def splitlines(self, keepends=False):
            return [Line(line) for line in super().splitlines(keepends)]

    monkeypatch.setattr(packages, "_text", lambda _: Text("a\\\n" * 2000 + "b\nc"))
    got = list(packages.read_requirements("/model/requirements.txt", "/model"))
    assert got == [("requirements.txt", 1, "a" * 2000 + "b"), ("requirements.txt", 2002, "c")]
    assert sum(copied) < 100_000


def test_lines_of_a_requirements_file(tmp_path):
    (tmp_path / "requirements.txt").write_text(
        "\ufeff# a comment\n"
        "one==1 # why\n"
        "-i https://example.com/simple\n"
        "--find-links=https://example.com\n"
        "two==2 \\\n    --hash=sha256:00\n"
        "git+https://example.com/three#egg=three\n"
        "https://example.com/four.whl\n"
        "./five\n"
        "-e .\n"
        "six @ https://example.com/six.whl\n"
        "${SEVEN}==1\n"
        "-r below/more.txt\n"
        "--requirement requirements.txt\n"
    )
    (tmp_path / "below").mkdir()
    (tmp_path / "below" / "more.txt").write_text("\nseven\n-r gone.txt\n")
    file = str(tmp_path / "requirements.txt")
    assert list(packages.read_requirements(file, str(tmp_path))) == [
        ("requirements.txt", 2, "one==1"),
        ("requirements.txt", 5, "two==2"),
        ("requirements.txt", 11, "six @ https://example.com/six.whl"),
        ("below/more.txt", 2, "seven"),
    ]


@pytest.mark.parametrize(
    ("pip", "command"),
    [(True, f"{sys.executable} -m pip install"), (False, f"uv pip install --python {sys.executable}")],
)
def test_the_remedy_is_a_command(monkeypatch, pip, command):
    monkeypatch.setattr(packages, "_has_pip", lambda: pip)
    (problem,) = packages._problems("no-such-package>=2", {"line": 3}, "/model")
    assert problem["line"] == 3
    assert problem["fix"] == f"install it, as with `{command} 'no-such-package>=2'`"


@pytest.mark.parametrize(
    ("module", "lines", "want"),
    [
        ("sklearn.svm", None, "install scikit-learn, as with `"),
        ("PIL", "numpy\n", "add Pillow to requirements.txt and install it, as with `"),
        ("yaml", "pyyaml>=6\n", "install what requirements.txt lists, as with `"),
        ("flash_attn", "flash-attn==2.0\n", "install what requirements.txt lists, as with `"),
        ("numpy.fft", None, "install numpy, as with `"),
        ("google.cloud.storage", None, "install google-cloud-storage, as with `"),
        ("google.cloud.vision_v1", None, "install google-cloud-vision, as with `"),
        ("google.genai", None, "install google-genai, as with `"),
        ("azure.ai.inference", None, "install azure-ai-inference, as with `"),
        ("igraph", None, "install igraph, as with `"),
        ("pkg_resources", "setuptools\n", "add setuptools<81 to requirements.txt and install it"),
        ("clip", "git+https://github.com/openai/CLIP.git\n", "install what requirements.txt lists"),
    ],
)
def test_advice_names_the_package_that_holds_a_module(tmp_path, module, lines, want):
    if lines is not None:
        (tmp_path / "requirements.txt").write_text(lines)
    got = packages.fix_for(module, str(tmp_path))
    assert got.startswith(want), got


@pytest.mark.parametrize(
    ("files", "want"),
    [
        (
            {"pyproject.toml": "[project]\ndependencies = []\n"},
            "add Pillow to pyproject.toml and install it, as with `",
        ),
        (
            {"pyproject.toml": '[project]\ndependencies = ["pillow>=9"]\n'},
            "install what pyproject.toml lists, as with `",
        ),
        ({"pyproject.toml": "", "uv.lock": ""}, "add Pillow to pyproject.toml and install it, as with `uv add Pillow`"),
        (
            {"pyproject.toml": 'dependencies = ["pillow"]', "uv.lock": ""},
            "install what pyproject.toml lists, as with `uv sync`",
        ),
        ({"Pipfile": "[packages]\n"}, "add Pillow to Pipfile and install it, as with `"),
        ({"environment.yml": "dependencies:\n  - pillow=9\n"}, "install what environment.yml lists, as with `"),
        (
            {"requirements.txt": "", "needs.txt": "pillow", "cog.yaml": "build:\n  python_requirements: needs.txt\n"},
            "install what needs.txt lists, as with `",
        ),
        ({"cog.yaml": "build:\n  python_packages:\n    - numpy\n"}, "add Pillow to cog.yaml and install it, as with `"),
        ({"cog.yaml": "build:\n  python_requirements: gone.txt\n"}, "install Pillow, as with `"),
    ],
)
def test_advice_names_the_file_that_lists_the_packages(tmp_path, files, want):
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    got = packages.fix_for("PIL", str(tmp_path))
    assert got.startswith(want), got


def test_advice_names_the_package_of_a_namespace_by_the_import(tmp_path):
    from cog._worker.model import problems

    (tmp_path / "run.py").write_text("import os\nfrom google.cloud import (\n    storage,\n)\n")
    error = ModuleNotFoundError("No module named 'google'", name="google")
    got = problems._fix(error, str(tmp_path), "run.py", 2)
    assert got.startswith("install google-cloud-storage, as with `"), got


def test_advice_leaves_the_global_python_alone(monkeypatch):
    monkeypatch.setattr(packages, "_in_environment", lambda: False)
    monkeypatch.setenv("PWD", "/elsewhere")
    got = packages.install_command("/my models", "scikit-learn")
    want = "-m venv .venv && .venv/bin/python -m pip install scikit-learn"
    assert got == f"cd '/my models' && {sys.executable} {want}", got
    monkeypatch.setenv("PWD", "/my models")
    assert packages.install_command("/my models", "scikit-learn") == f"{sys.executable} {want}"
