"""Commands and downloads that the import of a model runs.

They are found in the syntax tree, so nothing runs: in the module, in the model's files that it
imports, in the functions that these call, and in the __init__ of the predictor.
"""

from __future__ import annotations

import ast
import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
_CLASSES = {"predict": ("Runner", "Predictor"), "train": ("Trainer",)}

# Functions by their full names. "*" matches any text; a name that ends in "." matches all below it.
_COMMANDS = (
    "os.system",
    "os.popen",
    "os.exec*",
    "os.spawn*",
    "os.posix_spawn*",
    "pty.spawn",
    "subprocess.",
    "asyncio.create_subprocess_*",
    "pip.",
    "ensurepip.",
    "sh.",
)
_DOWNLOADS = (
    "urllib.request.url*",
    "requests.get",
    "requests.post",
    "requests.request",
    "httpx.get",
    "httpx.stream",
    "wget.download",
    "gdown.",
    "nltk.download",
    "spacy.cli.download",
    "torch.hub.load*",
    "torch.hub.download*",
    "torch.utils.model_zoo.load_url",
    "huggingface_hub.*_download",
    "keras.utils.get_file",
    "tensorflow.keras.utils.get_file",
)
# Methods of any object that download.
_DOWNLOADING = frozenset(
    [
        "download_url_to_file",
        "from_pretrained",
        "hf_hub_download",
        "load_file_from_url",
        "load_state_dict_from_url",
        "snapshot_download",
        "urlretrieve",
    ]
)


class Command:
    """A call that runs a command or downloads: its file, line and name."""

    def __init__(self, file: str, line: int, name: str, downloads: bool) -> None:
        self.file = file
        self.line = line
        self.name = name
        self.downloads = downloads

    def __str__(self) -> str:
        does = "downloads" if self.downloads else "runs a command"
        return f"{self.name}(…) {does} when the file is imported"


def find_commands(ref: str, root: str, mode: str = "predict") -> list[Command]:
    """Return the commands and downloads of the model that ref names, ordered by file and line.

    A file that cannot be read or parsed has none, as it cannot be imported.
    """
    file, _, name = ref.partition(":")
    root = os.path.abspath(root)
    target = os.path.abspath(os.path.join(root, file))
    search = _Search(root, [root, os.path.dirname(target)])
    module = search.module(target)
    if module is not None:
        for wanted in (name,) if name else _CLASSES.get(mode, ()):
            module.call(wanted)  # a function is only called by a prediction
    return sorted(search.found.values(), key=lambda c: (c.file, c.line))


class _Search:
    def __init__(self, root: str, path: list[str]) -> None:
        self.root = root
        self.path = path
        self.modules: dict[str, _Module | None] = {}
        self.found: dict[tuple[str, int], Command] = {}

    def module(self, file: str) -> _Module | None:
        """Return a searched file of the model, or None."""
        if file not in self.modules:
            self.modules[file] = None  # modules may import each other
            try:
                with open(file, "rb") as source:
                    tree = ast.parse(source.read(), file)
            except (OSError, SyntaxError, ValueError, RecursionError):
                return None
            self.modules[file] = module = _Module(self, file, tree)
            module.search(tree.body)
        return self.modules[file]

    def find(self, name: str, folder: str | None = None) -> str:
        """Return the file of a module of the model, "" for another."""
        for place in [folder] if folder is not None else self.path:
            at = os.path.join(place, *name.split("."))
            for file in (at + ".py", os.path.join(at, "__init__.py")):
                if os.path.isfile(file):
                    return file
        return ""


class _Module:
    def __init__(self, search: _Search, file: str, tree: ast.Module) -> None:
        self.all = search
        self.file = file
        self.shown = os.path.relpath(file, search.root)
        self.names: dict[str, str] = {}  # imported names: the full name
        self.own: dict[str, str] = {}  # names from the model's modules: the module's file
        self.defined: dict[str, Any] = {}
        for node in ast.walk(tree):  # the outermost first
            if isinstance(node, (*_FUNCTIONS, ast.ClassDef)):
                self.defined.setdefault(node.name, node)
        self.called: set[str] = set()

    def search(self, body: list[ast.stmt], cls: ast.ClassDef | None = None) -> None:
        """Search statements that run; cls is the class of their method, if they are in one."""
        nodes = [node for statement in body for node in _run(statement)]
        for node in nodes:
            if isinstance(node, ast.Import):
                self._import(node)
            elif isinstance(node, ast.ImportFrom):
                self._import_from(node)
        for node in nodes:
            if isinstance(node, ast.Call):
                self._check_call(node, cls)

    def call(self, name: str) -> None:
        """Search the code that runs when a class of this module is called."""
        made = self.defined.get(name)
        if isinstance(made, ast.ClassDef) and name not in self.called:
            self.called.add(name)
            for node in made.body:
                if isinstance(node, _FUNCTIONS) and node.name == "__init__":
                    self.search(node.body, made)

    def _call(self, name: str) -> None:
        function = self.defined.get(name)
        if isinstance(function, ast.ClassDef):
            self.call(name)
        elif function is not None and name not in self.called:
            self.called.add(name)
            self.search(function.body)

    def _check_call(self, call: ast.Call, cls: ast.ClassDef | None) -> None:
        parts = _dotted(call.func)
        if not parts:
            return
        head = self.names.get(parts[0], parts[0])
        name = ".".join([head, *parts[1:]])
        known = parts[0] in self.names
        command = known and _matches(name, _COMMANDS)
        downloads = parts[-1] in _DOWNLOADING or (known and _matches(name, _DOWNLOADS))
        if command or downloads:
            place = self.shown, call.lineno
            self.all.found.setdefault(place, Command(*place, ".".join(parts), not command))
        elif parts[0] in self.own and len(parts) <= 2:
            other = self.all.modules.get(self.own[parts[0]])
            if other is not None:
                other._call(name.rpartition(".")[2])
        elif len(parts) == 1:
            self._call(parts[0])
        elif cls is not None and parts[0] == "self" and len(parts) == 2:
            self._call_method(cls, parts[1])

    def _call_method(self, cls: ast.ClassDef, name: str) -> None:
        label = f"{cls.name}.{name}"
        for method in cls.body:
            if isinstance(method, _FUNCTIONS) and method.name == name and label not in self.called:
                self.called.add(label)
                self.search(method.body, cls)

    def _import(self, node: ast.Import) -> None:
        for alias in node.names:
            bound = alias.asname or alias.name.partition(".")[0]
            self.names[bound] = alias.name if alias.asname else bound
            file = self._own_file(alias.name)
            if file:
                self.own[bound] = file

    def _import_from(self, node: ast.ImportFrom) -> None:
        folder = os.path.dirname(self.file)
        for _ in range(node.level - 1):
            folder = os.path.dirname(folder)
        base = node.module or ""
        where = folder if node.level else None
        package = self._own_file(base, where) if base else ""
        for alias in node.names:
            bound = alias.asname or alias.name
            self.names[bound] = f"{base}.{alias.name}" if base else alias.name
            module = self._own_file(f"{base}.{alias.name}".strip("."), where)
            if module or package:
                self.own[bound] = module or package

    def _own_file(self, name: str, folder: str | None = None) -> str:
        """Search a module of the model and its packages; return its file, "" for another module."""
        parts = name.split(".")
        if folder is None and parts[0] in ("cog", "coglet"):
            return ""  # not a file beside the model
        file = ""
        for depth in range(1, len(parts) + 1):
            file = self.all.find(".".join(parts[:depth]), folder)
            if file:
                self.all.module(file)
        return file


def _run(statement: ast.AST) -> Iterator[ast.AST]:
    """Yield the nodes that run with a statement, without the bodies of functions."""
    nodes = [statement]
    while nodes:
        node = nodes.pop()
        if isinstance(node, ast.If) and _is_false_in_import(node.test):
            nodes += node.orelse
            continue
        yield node
        if isinstance(node, (*_FUNCTIONS, ast.Lambda)):
            nodes += [*node.args.defaults, *(d for d in node.args.kw_defaults if d)]
            if isinstance(node, _FUNCTIONS):
                nodes += node.decorator_list
        else:
            nodes += ast.iter_child_nodes(node)


def _is_false_in_import(test: ast.expr) -> bool:
    """Return whether a condition is false in an import: __name__, or TYPE_CHECKING."""
    if isinstance(test, ast.Compare) and isinstance(test.left, ast.Name):
        return test.left.id == "__name__"
    return _dotted(test)[-1:] == ["TYPE_CHECKING"]


def _dotted(node: ast.AST) -> list[str]:
    """Return the parts of a dotted name, [] for another expression.

    >>> _dotted(ast.parse("a.b.c", mode="eval").body)
    ['a', 'b', 'c']
    """
    parts: list[str] = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    if isinstance(node, ast.Name):
        return [node.id, *reversed(parts)]
    return ["…", *reversed(parts)] if parts else []


def _matches(name: str, patterns: tuple[str, ...]) -> bool:
    for pattern in patterns:
        begin, star, end = pattern.partition("*")
        if name == pattern or (pattern.endswith(".") and name.startswith(pattern)):
            return True
        if star and name.startswith(begin) and name.endswith(end):
            return True
    return False
