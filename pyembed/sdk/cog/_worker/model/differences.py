"""What in a model's source would behave differently here than in Cog.

The command runs `main` with one argument, JSON: {"root", "packages"}; packages are the names that
the model's requirements list. The answer is a list of {"file", "line", "what", "fix"}. The files
are parsed and never run.
"""

from __future__ import annotations

import ast
import json
import os
import re
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

_MOST_FILES = 2000
_LARGEST = 4 << 20  # bytes of a file that is read
_UNREADABLE = "fix it, if the model imports this file"
# Modules that Cog's own requirements install, and the packages they are in.
_BROUGHT = {
    "requests": "requests",
    "yaml": "pyyaml",
    "structlog": "structlog",
    "typing_extensions": "typing-extensions",
}
_INSTALLS = re.compile(r"^\s*(sudo\s+)?(apt(-get)?|pip3?|python3? -m pip)\s+install\b")


def main() -> None:
    """Answer the request in argv."""
    request = json.loads(sys.argv[1])
    packages = {re.sub(r"[-_.]+", "-", name).lower() for name in request["packages"]}
    findings: list[dict[str, object]] = []
    for file in _sources(request["root"]):
        shown = os.path.relpath(file, request["root"])
        for line, what, fix in sorted(set(_differences(file, packages))):
            finding: dict[str, object] = {"file": shown, "line": line, "what": what, "fix": fix}
            if fix == _UNREADABLE:
                finding["unreadable"] = True
            findings.append(finding)
    json.dump(findings, sys.stdout)


def _sources(root: str) -> Iterator[str]:
    count = 0
    for folder, folders, files in os.walk(root):
        folders[:] = sorted(
            name
            for name in folders
            if not name.startswith(".")
            and name not in ("__pycache__", "node_modules")
            and not os.path.exists(os.path.join(folder, name, "pyvenv.cfg"))
        )
        for name in sorted(files):
            path = os.path.join(folder, name)
            if name.endswith(".py") and os.path.isfile(path) and os.path.getsize(path) <= _LARGEST:
                count += 1
                if count > _MOST_FILES:
                    return
                yield path


def _differences(file: str, packages: set[str]) -> Iterator[tuple[int, str, str]]:
    try:
        with open(file, "rb") as stream:
            tree = ast.parse(stream.read())
    except (SyntaxError, OSError, ValueError, RecursionError) as error:
        why = getattr(error, "msg", None) or getattr(error, "strerror", None) or error
        what = f"Python {sys.version_info[0]}.{sys.version_info[1]} cannot read it: {why}"
        yield getattr(error, "lineno", None) or 1, what, _UNREADABLE
        return
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield from _imported(node.lineno, alias.name, packages)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield from _imported(node.lineno, node.module, packages)
            if node.module == "cog":
                yield from _names(node)
        elif isinstance(node, ast.Attribute):
            yield from _attribute(node)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield from _text(node.lineno, node.value)
        elif isinstance(node, ast.List):
            words = [
                e.value
                for e in node.elts
                if isinstance(e, ast.Constant) and isinstance(e.value, str)
            ]
            yield from _text(node.lineno, " ".join(words))


def _imported(line: int, module: str, packages: set[str]) -> Iterator[tuple[int, str, str]]:
    top, _, rest = module.partition(".")
    package = _BROUGHT.get(top)
    if package and package not in packages:
        what = f"{top} comes with Cog, and not with Pinion; no requirement names it"
        yield line, what, f"add {package} to the packages of cog.yaml"
    if top == "cog" and rest and not _is_ours(rest):
        what = f"{module} is internal to Cog, and Pinion's package has no such module"
        yield line, what, "use what `from cog import ...` has"


def _is_ours(rest: str) -> bool:
    import cog

    path = os.path.join(os.path.dirname(cog.__file__), *rest.split("."))
    return os.path.isdir(path) or os.path.isfile(path + ".py")


def _names(node: ast.ImportFrom) -> Iterator[tuple[int, str, str]]:
    import cog

    for alias in node.names:
        if alias.name != "*" and not hasattr(cog, alias.name) and not _is_ours(alias.name):
            what = f"cog.{alias.name} is not part of Pinion's cog package"
            yield node.lineno, what, "remove it, or guard the import with `except ImportError`"


def _attribute(node: ast.Attribute) -> Iterator[tuple[int, str, str]]:
    if not isinstance(node.value, ast.Name):
        return
    name = f"{node.value.id}.{node.attr}"
    if name == "signal.SIGUSR1":
        yield (
            node.lineno,
            "Pinion cancels predictions by SIGUSR1",
            "use another signal, such as SIGUSR2",
        )
    elif name == "torch.compile":
        what = "torch.compile needs a C compiler, which Cog's GPU image has and Pinion's has not"
        yield node.lineno, what, "add gcc and libc6-dev to build.system_packages"


def _text(line: int, text: str) -> Iterator[tuple[int, str, str]]:
    if text.startswith("/root/"):
        what = (
            f"{text[:80]}: Cog's image runs as root, Pinion's as a user who cannot use this folder"
        )
        yield line, what, "use a folder in /tmp, or a volume"
    if _INSTALLS.match(text):
        command = text.strip()[:80]
        what = f"`{command}`: Cog's image runs as root, Pinion's as a user who cannot install"
        yield line, what, "add the packages to system_packages or python_packages of cog.yaml"
