"""A module's source, changed so that what cannot be known in it does no harm to the rest.

Each statement that stands alone is put into a `try`: where it fails, the names that it would have
bound become unknown, with the reason, and so do lists and the like that it would have changed.
Positions stay as they are in the file.
"""

from __future__ import annotations

import ast

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

GUARD = "__static_guard__"  # what the handlers catch
FAILED = "__static_failed__"  # what they call

_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
_SCOPES = (*_FUNCTIONS, *_COMPREHENSIONS, ast.ClassDef, ast.Lambda)
_CATCH_ALL = {"BaseException"}
_CATCH_IMPORT = {"ImportError", "ModuleNotFoundError", "Exception", *_CATCH_ALL}


class Statement:
    """What is to be known about a guarded statement when it fails."""

    def __init__(self, node: ast.stmt) -> None:
        self.line = node.lineno
        self.binds = sorted(set(_bound(node)))
        # A definition changes nothing but what it binds.
        changes = not isinstance(node, (*_FUNCTIONS, ast.ClassDef))
        names = {n.id for n in ast.walk(node) if isinstance(n, ast.Name)} if changes else set()
        self.mentions = sorted(names.difference(self.binds))
        self.is_star = isinstance(node, ast.ImportFrom) and node.names[0].name == "*"


class Guarded:
    """A guarded module: code to run, its statements, the lines of imports that may fail."""

    def __init__(self, source: bytes, file: str) -> None:
        tree = ast.parse(source, file)
        self.statements: list[Statement] = []
        self.optional = {line for node in ast.walk(tree) for line in _optional_imports(node)}
        for node in ast.walk(tree):
            if isinstance(node, ast.Try) or type(node).__name__ == "TryStar":
                _let_refusals_pass(node)
        tree.body = self._guard_all(tree.body, in_class=False)
        self.code = compile(ast.fix_missing_locations(tree), file, "exec", dont_inherit=True)

    def _guard_all(self, body: list[ast.stmt], in_class: bool) -> list[ast.stmt]:
        return [self._guard(node, in_class) for node in body]

    def _guard(self, node: ast.stmt, in_class: bool) -> ast.stmt:
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            return node  # a docstring is one only where it stands first
        if isinstance(node, ast.ImportFrom) and node.module == "__future__":
            return node
        if isinstance(node, ast.AnnAssign) and in_class:
            return node  # a class without one of its members is another class
        statement = Statement(node)
        if isinstance(node, ast.ClassDef):
            node.body = self._guard_all(node.body, in_class=True)
        elif isinstance(node, ast.If):
            node.body = self._guard_all(node.body, in_class)
            node.orelse = self._guard_all(node.orelse, in_class)
        self.statements.append(statement)
        call = ast.Call(
            func=ast.Name(id=FAILED, ctx=ast.Load()),
            args=[ast.Constant(value=len(self.statements) - 1)],
            keywords=[],
        )
        handler = ast.ExceptHandler(
            type=ast.Name(id=GUARD, ctx=ast.Load()), name=None, body=[ast.Expr(value=call)]
        )
        body: list[ast.stmt] = [node]
        if isinstance(node, ast.While):
            # A signal at the jump back to the begin of an endless loop is raised at the instruction
            # before that. It must be one inside of the `try`.
            first = ast.Expr(value=ast.Name(id=GUARD, ctx=ast.Load()))
            body.insert(0, ast.fix_missing_locations(ast.copy_location(first, node)))
        guarded = ast.Try(body=body, handlers=[handler], orelse=[], finalbody=[])
        _place(guarded, node)
        return guarded


def _place(guarded: ast.Try, node: ast.stmt) -> None:
    """Give the new nodes the position of the old one, but leave those of its inside alone."""
    ast.copy_location(guarded, node)
    for handler in guarded.handlers:
        for inner in ast.walk(handler):
            if isinstance(inner, (ast.expr, ast.stmt, ast.excepthandler)):
                ast.copy_location(inner, node)


def _let_refusals_pass(node: Any) -> None:
    """Make a `try` of the model's own not catch a Refusal."""
    reraise = ast.ExceptHandler(
        type=ast.Name(id="__static_refusal__", ctx=ast.Load()), name=None, body=[ast.Raise()]
    )
    if type(node).__name__ == "TryStar" or not any(_catches(h, _CATCH_ALL) for h in node.handlers):
        return  # it catches none
    for inner in ast.walk(reraise):
        if isinstance(inner, (ast.expr, ast.stmt, ast.excepthandler)):
            ast.copy_location(inner, node)
    node.handlers.insert(0, reraise)


def _optional_imports(node: ast.AST) -> Iterator[int]:
    """Yield the lines of imports whose failure the model is prepared for."""
    if not isinstance(node, ast.Try) or not any(_catches(h, _CATCH_IMPORT) for h in node.handlers):
        return
    for statement in node.body:
        for inner in ast.walk(statement):
            if isinstance(inner, (ast.Import, ast.ImportFrom)):
                yield from range(inner.lineno, (inner.end_lineno or inner.lineno) + 1)


def _catches(handler: ast.ExceptHandler, names: set[str]) -> bool:
    if handler.type is None:
        return True
    return any(isinstance(n, ast.Name) and n.id in names for n in ast.walk(handler.type))


def _bound(node: ast.AST) -> Iterator[str]:
    """Yield the names that a statement binds in its own scope."""
    if isinstance(node, (*_FUNCTIONS, ast.ClassDef)):
        yield node.name
    elif isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
        yield node.id
    elif isinstance(node, (ast.Import, ast.ImportFrom)):
        for alias in node.names:
            if alias.name != "*":
                yield alias.asname or alias.name.partition(".")[0]
    elif isinstance(node, ast.ExceptHandler) and node.name:
        yield node.name
    elif isinstance(node, (ast.Global, ast.Nonlocal)):
        yield from node.names
    if not isinstance(node, _SCOPES):
        for child in ast.iter_child_nodes(node):
            yield from _bound(child)
