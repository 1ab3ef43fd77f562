"""Whether the packages that a model needs are installed for this interpreter.

The command runs `main` with one argument, JSON: {"root", "requirements", "packages"}. requirements
is a file in pip's format or "", packages are lines of such a file. The answer is a list of
{"file"?, "line", "what", "fix"}; for packages the line is the index in the list.
"""

from __future__ import annotations

import json
import os
import re
import sys
from functools import cache
from importlib import metadata

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any

_NAME = re.compile(r"^([A-Za-z0-9][A-Za-z0-9._-]*)")
_EXACT = re.compile(r"^[A-Za-z0-9._-]+\s*(?:\[[^]]*\])?\s*==\s*([A-Za-z0-9.!+_-]+)\s*$")
_OURS = {"cog", "coglet"}  # the server brings them


def main() -> None:
    """Answer the request in argv."""
    request = json.loads(sys.argv[1])
    problems = []
    for line, text in enumerate(request["packages"]):
        problems += _problems(text, {"line": line}, request["root"])
    if request["requirements"]:
        file = os.path.join(request["root"], request["requirements"])
        for number, (name, line, text) in enumerate(read_requirements(file, request["root"])):
            place = {"file": name, "line": line}
            if number == _MOST_REQUIREMENTS:
                what = f"only the first {number} requirements are checked, which end here"
                problems.append({**place, "what": what, "fix": "remove those that are not needed"})
                break
            problems += _problems(text, place, request["root"])
    json.dump(problems, sys.stdout)


def _problems(text: str, place: dict[str, Any], root: str) -> list[dict[str, Any]]:
    what = missing(text)
    if not what:
        return []
    return [{**place, "what": what, "fix": f"install it, as with `{install_command(root, text)}`"}]


def install_command(root: str, *arguments: str) -> str:
    """Return the command that installs requirements for this interpreter.

    An environment that uv made has no pip. The system's own interpreter is left alone: the command
    makes an environment in the model's folder, which the server then takes by itself.
    """
    import shlex

    wanted = " ".join(shlex.quote(a.strip()) for a in arguments)
    enter = ""  # for what is relative to the folder, unless the shell is there
    if os.path.realpath(os.environ.get("PWD", os.sep)) != os.path.realpath(root):
        enter = f"cd {shlex.quote(root)} && "
    python = shlex.quote(sys.executable)
    if not _in_environment():
        return f"{enter}{python} -m venv .venv && .venv/bin/python -m pip install {wanted}"
    if arguments[0] != "-r":
        enter = ""
    if _has_pip():
        return f"{enter}{python} -m pip install {wanted}"
    return f"{enter}uv pip install --python {python} {wanted}"


@cache
def _has_pip() -> bool:
    from importlib.util import find_spec

    return find_spec("pip") is not None


def _in_environment() -> bool:
    """Tell whether packages of this interpreter are its own: a virtual or a conda environment."""
    return sys.prefix != sys.base_prefix or os.path.isdir(os.path.join(sys.prefix, "conda-meta"))


def fix_for(module: str, root: str) -> str:
    """Return what to do about a module that is missing."""
    from .distributions import distribution_of

    package = distribution_of(module)
    file = _requirements_file(root)
    if not file:
        return f"install {package}, as with `{install_command(root, package)}`"
    by_uv = file == "pyproject.toml" and os.path.isfile(os.path.join(root, "uv.lock"))
    if _lists(file, root, package):
        if file.endswith(".txt"):
            command = install_command(root, "-r", file)
        else:
            command = "uv sync" if by_uv else install_command(root, package)
        return f"install what {file} lists, as with `{command}`"
    command = f"uv add {package}" if by_uv else install_command(root, package)
    return f"add {package} to {file} and install it, as with `{command}`"


# Where a model's folder lists its packages, the first that is there.
_FILES = ("requirements.txt", "pyproject.toml", "Pipfile", "environment.yml", "environment.yaml")
_IN_COG_YAML = re.compile(
    r"^\s*python_(requirements|packages):[ \t]*[\"']?([^\"'#\n]*)", re.MULTILINE
)


def _requirements_file(root: str) -> str:
    """Return the file that lists the model's packages, which cog.yaml may name or be, or ""."""
    found: dict[str, str] = dict(_IN_COG_YAML.findall(_text(os.path.join(root, "cog.yaml"))))
    named = found.get("requirements", "").strip()
    if named and os.path.isfile(os.path.join(root, named)):
        return named
    if "packages" in found:
        return "cog.yaml"
    return next((name for name in _FILES if os.path.isfile(os.path.join(root, name))), "")


def _lists(file: str, root: str, package: str) -> bool:
    path = os.path.join(root, file)
    if package.startswith("git+"):
        return package in _text(path)
    if not _NAME.fullmatch(package):  # it has a version, which another line may not ask for
        return False
    if file.endswith(".txt"):
        found = (_NAME.match(text) for *_, text in read_requirements(path, root))
        listed = [name[1] for name in found if name]
    else:
        listed = re.findall(r"[A-Za-z0-9][A-Za-z0-9._-]*", _text(path))
    return _plain(package) in map(_plain, listed)


def _text(path: str) -> str:
    try:
        with open(path, encoding="utf-8-sig", errors="replace") as stream:
            return stream.read(_LARGEST)
    except OSError:
        return ""


def _plain(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


_LARGEST = 16 << 20  # characters of a file of requirements
_MOST_FILES = 100  # that include each other
_MOST_REQUIREMENTS = 10_000  # that are checked


def read_requirements(
    file: str, root: str, read: set[str] | None = None
) -> Iterator[tuple[str, int, str]]:
    """Yield the file, the line and the text of each requirement, with those of included files.

    Options, URLs, paths and variables are skipped. Each file is read once.
    """
    read = set() if read is None else read
    file = os.path.normpath(file)
    if file in read:
        return
    read.add(file)
    lines = _text(file).splitlines()
    shown = os.path.relpath(file, root)
    number = 0
    while number < len(lines):
        first = number
        while lines[number].endswith("\\") and number + 1 < len(lines):
            number += 1
        number += 1
        text = "".join([*(line[:-1] for line in lines[first : number - 1]), lines[number - 1]])
        text = re.sub(r"(^|\s)#.*", "", text).strip()
        included = re.match(r"(?:-r|--requirement)[\s=]*(\S+)", text)
        if included:
            if len(read) < _MOST_FILES:
                below = os.path.join(os.path.dirname(file), included[1])
                yield from read_requirements(below, root, read)
            continue
        text = re.split(r"\s--", text)[0].strip()  # for example hashes
        if text and not text.startswith("-") and "${" not in text and _names_package(text):
            yield shown, first + 1, text


def _names_package(text: str) -> bool:
    before, _, marked = text.partition("@")
    if marked and _NAME.fullmatch(before.partition("[")[0].strip()):
        return True  # name @ https://…
    return "/" not in before and ":" not in before and bool(_NAME.match(text))


def missing(text: str) -> str:
    """Return how a requirement is not met, "" if it is met or unclear.

    >>> missing("a-package-that-is-not-there>=2")
    'a-package-that-is-not-there is not installed'
    """
    name, allows, is_wanted = _parsed(text)
    if not name or name.lower().replace("_", "-") in _OURS or not is_wanted:
        return ""
    try:
        version = metadata.version(name)
    except metadata.PackageNotFoundError:
        return f"{name} is not installed"
    if version is None or allows(version):
        return ""
    return f"{name} {version} is installed, but {text.strip()} is required"


def _parsed(text: str) -> tuple[str, Callable[[str], bool], bool]:
    """Return a requirement's name, a check of versions, and whether its marker applies.

    The package `packaging` compares versions, or the copy in pip. Without both, only exact versions
    are compared, as text.
    """
    requirements = _packaging()
    if requirements is not None:
        try:
            parsed = requirements.Requirement(text)
        except requirements.InvalidRequirement:
            return "", bool, False
        wanted = parsed.marker is None or parsed.marker.evaluate({"extra": ""})
        return parsed.name, lambda v: parsed.specifier.contains(v, prereleases=True), wanted
    match = _NAME.match(text)
    exact = _EXACT.match(text)
    if match is None or ";" in text:
        return "", bool, False

    def allows(version: str) -> bool:
        return exact is None or exact[1] in (version, version.partition("+")[0])

    return match[1], allows, True


@cache
def _packaging() -> Any:
    import importlib

    for name in ("packaging", "pip._vendor.packaging", "setuptools._vendor.packaging"):
        try:
            return importlib.import_module(name + ".requirements")
        except ImportError:
            continue
    return None
