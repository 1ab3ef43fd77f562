"""A model's modules, without what only running them tells.

Each statement is reduced to what is plain (`plain`), and that is run: imports of modules that only
compute, definitions without their bodies, assignments of plain values. Other names are unknown.
"""

from __future__ import annotations

import ast
import os
import sys
from types import ModuleType, SimpleNamespace

from ...coder import Coder
from ..schema.typeforms import REDUCE
from .plain import CONTAINERS, PURE, Expressions, Refusal, is_unknown, unknown

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
_DEFINITIONS = (*_FUNCTIONS, ast.ClassDef)
_SCOPES = (*_DEFINITIONS, ast.Lambda, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
_IMPORTS = (ast.Import, ast.ImportFrom)
_CHANGING = "add append clear discard extend insert pop remove setdefault update"
_IMPORTERS = {"import_module", "__import__"}  # by a computed name
# Decorators of torch that do not change the signature.
_TRANSPARENT = {
    f"torch.{name}{call}"
    for name in ("compile", "enable_grad", "inference_mode", "no_grad", "autocast")
    for call in ("", "(…)")
} | {"torch.cuda.amp.autocast(…)"}


class StaticReader:
    """Reads the modules of one model. They are in sys.modules while it is open.

    Quoted annotations are looked up there, by our code and by the standard library.
    """

    def __init__(self, root: str) -> None:
        self.root = root
        self.path = [root]  # folders of the model's modules
        self.unsure: Refusal | None = None  # why a fault of the model may be none
        self.modules: dict[str, _Module] = {}
        self.changed: set[str] = set()  # names of containers that the modules change
        self._before: dict[str, ModuleType | None] = {}

    def __enter__(self) -> StaticReader:
        return self

    def __exit__(self, *exc: object) -> None:
        for name, module in self._before.items():
            if module is None:
                sys.modules.pop(name, None)
            else:
                sys.modules[name] = module

    def read(self, name: str, file: str, folders: list[str] | None = None) -> ModuleType:
        """Return the module of a file; folders are those of a package's submodules."""
        if name not in self.modules:
            self.modules[name] = module = _Module(self, name, file, folders)
            self._before.setdefault(name, sys.modules.get(name))
            sys.modules[name] = module.made
            if file:
                module.run()
        return self.modules[name].made

    def shown(self, file: str) -> str:
        """Return a file's path below the model's folder, for messages."""
        prefix = self.root.rstrip(os.sep) + os.sep
        return file[len(prefix) :] if file.startswith(prefix) else file

    def line_of(self, file: str, *names: str) -> int:
        """Return the line that last binds the first known of the names; 0 without one."""
        lines = next((m.lines for m in self.modules.values() if m.file == file), {})
        return next((lines[name] for name in names if name in lines), 0)

    def forget(self, changed: set[str]) -> None:
        """Make the containers of these names unknown in all modules, now and later."""
        self.changed |= changed
        for module in self.modules.values():
            for name in list(module.space):
                self.check(module.space, name)

    def check(self, space: dict[str, Any], name: str) -> None:
        """Make a name unknown if it is of a container that the modules change."""
        is_changed = name in self.changed or ("*" in self.changed and not name.startswith("__"))
        if is_changed and isinstance(space[name], CONTAINERS):
            space[name] = unknown(name, _CHANGED)

    def find(self, name: str) -> list[ModuleType]:
        """Read the packages above a module and then itself; return them, [] for none."""
        places = self.path
        found: list[ModuleType] = []
        parts = name.split(".")
        for depth in range(1, len(parts) + 1):
            part = ".".join(parts[:depth])
            module = self.modules[part].made if part in self.modules else self._find(part, places)
            if module is None:
                return []
            if found:
                found[-1].__dict__.setdefault(parts[depth - 1], module)
            found.append(module)
            places = getattr(module, "__path__", [])
        return found

    def _find(self, name: str, places: list[str]) -> ModuleType | None:
        last = name.rpartition(".")[2]
        folders = [os.path.join(self.root, place, last) for place in places]
        for folder in folders:
            if os.path.isfile(os.path.join(folder, "__init__.py")):
                return self.read(name, os.path.join(folder, "__init__.py"), [folder])
            if os.path.isfile(folder + ".py"):
                return self.read(name, folder + ".py")
        package = next(filter(os.path.isdir, folders), None)
        return None if package is None else self.read(name, "", [package])


class _Module:
    """One module of the model."""

    def __init__(
        self, reader: StaticReader, name: str, file: str, folders: list[str] | None
    ) -> None:
        self.reader = reader
        self.file = file
        self.made = ModuleType(name)
        self.space: dict[str, Any] = self.made.__dict__
        self.space["__file__"] = file
        self.space["__package__"] = name if folders is not None else name.rpartition(".")[0]
        if folders is not None:
            self.space["__path__"] = folders
        self.expressions = Expressions(self.space)
        self.space[REDUCE] = self.expressions.quoted
        self.lines: dict[str, int] = {}  # name: the line that binds it

    def run(self) -> None:
        """Evaluate the plain statements of the file."""
        try:
            with open(self.file, "rb") as source:
                tree = ast.parse(source.read(), self.file)
        except SyntaxError as exc:
            file = self.reader.shown(self.file)
            raise Refusal(f"SyntaxError: {exc.msg}", "", file, exc.lineno or 0) from exc
        self.lines = {name: node.lineno for node in tree.body for name in _bound(node)}
        changed = set().union(*map(_changes, ast.walk(tree)))
        for node in ast.walk(tree):
            if isinstance(node, ast.ImportFrom):
                changed |= {alias.name for alias in node.names if alias.asname in changed}
        self.reader.forget(changed)
        for node in tree.body:
            self._run(node)

    def _run(self, node: ast.stmt) -> None:
        """Evaluate a statement; what it binds is unknown if it is not plain."""
        try:
            if isinstance(node, ast.If):
                for inner in node.body if self._test(node) else node.orelse:
                    self._run(inner)
            elif isinstance(node, ast.Try):
                self._try(node)
            elif isinstance(node, _IMPORTS):
                self._import(node)
            else:
                self._run_plain(node)
        except (Refusal, Exception) as error:
            refusal = (
                error if isinstance(error, Refusal) else Refusal(f"{type(error).__name__}: {error}")
            )
            if not refusal.file:
                refusal.file, refusal.line = self.reader.shown(self.file), node.lineno
            for name in _bound(node):
                self.space[name] = unknown(name, str(refusal))

    def _run_plain(self, node: ast.stmt) -> None:
        shown = self.reader.shown(self.file)
        body = _Body(self.expressions, shown, self.space)
        reduced = body.reduce(node)
        tree = ast.fix_missing_locations(ast.Module(body=[reduced], type_ignores=[]))
        exec(compile(tree, self.file, "exec", dont_inherit=True), self.space)  # noqa: S102
        for name in _bound(node):
            value = self.space[name]
            self.reader.check(self.space, name)
            if isinstance(value, type) and body.missing and _is_described(value):
                raise body.missing
            if isinstance(value, type) and issubclass(value, Coder):
                self.reader.unsure = Refusal(_NOT_RUN, f"the coder {name}", shown, node.lineno)

    def _test(self, node: ast.If) -> Any:
        test = ast.Expression(self.expressions.plain(node.test))
        return eval(compile(ast.fix_missing_locations(test), self.file, "eval"), self.space)  # noqa: S307

    def _try(self, node: ast.Try) -> None:
        """Evaluate the body; names that other lines may bind too are unknown."""
        before = set(self.space)
        for inner in node.body:
            self._run(inner)
        parts = (*node.body, *node.handlers, *node.orelse, *node.finalbody)
        bound = [name for part in parts for name in set(_bound(part))]
        why = f"{self.reader.shown(self.file)}:{node.lineno}: it depends on whether the `try` fails"
        for name in bound:
            if name not in self.space or name in before or bound.count(name) > 1:
                self.space[name] = unknown(name, why)

    def _import(self, node: ast.Import | ast.ImportFrom) -> None:
        if isinstance(node, ast.Import):
            for alias in node.names:
                top = alias.name.partition(".")[0]
                module = self._module(alias.name)
                self.space[alias.asname or top] = module if alias.asname else self._module(top)
            return
        name = self._absolute(node)
        module = self._module(name)
        for alias in node.names:
            if alias.name != "*":
                self.space[alias.asname or alias.name] = self._member(module, name, alias.name)
            elif is_unknown(module):
                what = f"the names in {name} are unknown when the source is only read"
                shown = self.reader.shown(self.file)
                star = Refusal(what, f"from {name} import *", shown, node.lineno)
                self.reader.unsure = self.reader.unsure or star
            else:
                public = [n for n in vars(module) if not n.startswith("_")]
                names = getattr(module, "__all__", public)
                self.space.update({name: getattr(module, name) for name in names})

    def _absolute(self, node: ast.ImportFrom) -> str:
        if node.level == 0:
            return node.module or ""
        base = str(self.space["__package__"]).rsplit(".", node.level - 1)[0]
        if not base:
            raise ImportError("attempted relative import with no known parent package")
        return f"{base}.{node.module}" if node.module else base

    def _member(self, module: Any, name: str, member: str) -> Any:
        """Return what `from name import member` gives."""
        if is_unknown(module):
            return self.expressions.foreign(f"{name}.{member}", module.static_why)
        if name in self.reader.modules and member not in vars(module):
            self.reader.find(f"{name}.{member}")
        return getattr(module, member)

    def _module(self, name: str) -> Any:
        top = name.partition(".")[0]
        if top == "sys":
            return _SYS
        found = [] if is_taken(top) else self.reader.find(name)
        if found:
            return found[-1]
        if top in PURE:
            try:
                __import__(name)
            except ModuleNotFoundError:
                if top in sys.stdlib_module_names or top in ("cog", "coglet"):
                    raise
            else:
                return sys.modules[name]
        return unknown(name, f"{top} is not imported when the source is only read")


class _Body:
    """Reduces statements; missing is why a member of a class is not known, if one is not."""

    def __init__(self, expressions: Expressions, shown: str, space: dict[str, Any]) -> None:
        self.expressions = expressions
        self.shown = shown
        self.missing: Refusal | None = None
        flag = space.get("annotations")
        self.postponed = type(flag).__name__ == "_Feature"

    def reduce(self, node: ast.stmt) -> Any:
        """Return the plain part of a statement; raise a Refusal if it has none."""
        expressions = self.expressions
        if isinstance(node, ast.ClassDef):
            return self._class(node)
        if isinstance(node, _FUNCTIONS):
            return self._function(node)
        if isinstance(node, ast.Assign):
            targets = [n for t in node.targets for n in getattr(t, "elts", (t,))]
            if not all(isinstance(target, ast.Name) for target in targets):
                raise Refusal(_NOT_RUN)
            return _moved(node, ast.Assign(node.targets, expressions.plain(node.value)))
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            annotation = expressions.annotation(node.annotation, self.postponed)
            value = node.value and expressions.value(node.value)
            return _moved(node, ast.AnnAssign(node.target, annotation, value, 1))
        if isinstance(node, ast.Pass) or isinstance(getattr(node, "value", None), ast.Constant):
            return node
        for part in ("iter", "test", "items"):  # why a loop or a `with` is not known
            value = getattr(node, part, None)
            if value is not None:
                expressions.plain(value if part != "items" else value[0].context_expr)
        raise Refusal(_NOT_RUN)

    def _function(self, node: Any) -> Any:
        expressions = self.expressions
        if getattr(node, "type_params", None):
            raise Refusal(_NOT_RUN)
        decorators = [
            expressions.decorator(each)
            for each in node.decorator_list
            if expressions.path(each) not in _TRANSPARENT
        ]
        given = node.args

        def bare(arg: Any) -> Any:
            if arg is None:
                return None
            annotation = arg.annotation and expressions.annotation(arg.annotation, self.postponed)
            return _moved(arg, ast.arg(arg.arg, annotation))

        arguments = ast.arguments(
            posonlyargs=list(map(bare, given.posonlyargs)),
            args=list(map(bare, given.args)),
            vararg=bare(given.vararg),
            kwonlyargs=list(map(bare, given.kwonlyargs)),
            kw_defaults=[each and expressions.value(each) for each in given.kw_defaults],
            kwarg=bare(given.kwarg),
            defaults=list(map(expressions.value, given.defaults)),
        )
        returns = node.returns and expressions.annotation(node.returns, self.postponed)
        said = ast.Expr(ast.Constant(ast.get_docstring(node, clean=False)))
        body = [said, ast.Expr(ast.Yield()) if _yields(node) else ast.Pass()]
        made = type(node)(node.name, arguments, body, decorators, returns)
        made.type_params = []
        return _moved(node, made)

    def _class(self, node: Any) -> Any:
        expressions = self.expressions
        if getattr(node, "type_params", None):
            raise Refusal(_NOT_RUN)
        bases = list(map(expressions.base, node.bases))
        keywords = [ast.keyword(k.arg, expressions.plain(k.value)) for k in node.keywords]
        if any(k.arg in (None, "metaclass") for k in keywords):
            raise Refusal(_NOT_RUN, "metaclass")
        decorators = list(map(expressions.decorator, node.decorator_list))
        with expressions.scope() as names:
            body: list[ast.stmt] = []
            for inner in node.body:
                body += self._members(inner, names)
        made: Any = ast.ClassDef(node.name, bases, keywords, body or [ast.Pass()], decorators)
        made.type_params = []
        return _moved(node, made)

    def _members(self, node: ast.stmt, names: set[str]) -> Iterator[ast.stmt]:
        """Yield the plain part of a statement of a class, whose known names are added.

        The names that it binds are unknown if there is none.
        """
        if isinstance(node, _FUNCTIONS) and node.name == "__init__":
            attributes = (n for n in ast.walk(node) if isinstance(n, ast.Attribute))
            stores = {n.attr for n in attributes if isinstance(n.ctx, ast.Store)}
            stored = ast.Constant(" ".join(sorted(stores)))
            yield _moved(node, ast.Assign([ast.Name(STORES, ast.Store())], stored))
        if isinstance(node, _FUNCTIONS) and node.name.startswith("__"):
            return  # it could only run
        before = len(self.expressions.hidden)
        try:
            reduced = self.reduce(node)
            yield reduced
            names.update(_bound(node))
        except Refusal as refusal:
            if not refusal.file:
                refusal.file, refusal.line = self.shown, node.lineno
            for name in _bound(node):
                value = self.expressions.hide(unknown(name, str(refusal)))
                yield _moved(node, ast.Assign([ast.Name(name, ast.Store())], value))
        new = list(filter(is_unknown, self.expressions.hidden[before:]))
        if isinstance(node, ast.AnnAssign) and new and self.missing is None:
            first = new[0]
            self.missing = Refusal(first.static_why, first.static_path, self.shown, node.lineno)


STORES = "__static_stores__"  # a class's member: the attributes that its __init__ sets
_NOT_RUN = "it is not run when the source is only read"
_CHANGED = "it is changed by code that is not run when the source is only read"


_SYS = SimpleNamespace(platform=sys.platform, version_info=sys.version_info)


def is_taken(name: str) -> bool:
    """Return whether a module of this name is Python's, even if the model has such a file."""
    return name in PURE or name == "sys"


def _is_described(cls: type) -> bool:
    """Return whether the members of a class are in the document."""
    ours = any(base.__module__ == "cog.model" for base in cls.__mro__)
    marks = "__dataclass_fields__", "__total__", "_fields", "__pydantic_fields__", "__fields__"
    return ours or any(hasattr(cls, mark) for mark in marks)


def _moved(old: Any, new: Any) -> Any:
    return ast.copy_location(new, old)


def _yields(function: ast.AST) -> bool:
    inner = [n for n in ast.iter_child_nodes(function) if not isinstance(n, _SCOPES)]
    return any(isinstance(n, (ast.Yield, ast.YieldFrom)) or _yields(n) for n in inner)


def _changes(node: ast.AST) -> set[str]:
    """Return the names of containers that a node changes; "*" if it may change any."""
    changed: Any = None
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        changed = node.func.value if node.func.attr in _CHANGING.split() else None
    elif isinstance(node, ast.Subscript) and not isinstance(node.ctx, ast.Load):
        changed = node.value
    elif isinstance(node, ast.Global):
        return set(node.names)
    elif {getattr(node, "id", ""), getattr(node, "attr", "")} & _IMPORTERS:
        return {"*"}
    name = getattr(changed, "id", None) or getattr(changed, "attr", None)
    return {name} if name else set()


def _bound(node: ast.AST) -> Iterator[str]:
    """Yield the names that a statement binds in its scope."""
    if isinstance(node, _DEFINITIONS):
        yield node.name
    elif isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
        yield node.id
    elif isinstance(node, _IMPORTS):
        for alias in node.names:
            if alias.name != "*":
                yield alias.asname or alias.name.partition(".")[0]
    elif isinstance(node, ast.ExceptHandler) and node.name:
        yield node.name
    if not isinstance(node, _SCOPES):
        for child in ast.iter_child_nodes(node):
            yield from _bound(child)
