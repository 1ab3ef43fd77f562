"""A module's source with each statement in a `try`, so that a failed one does not end the module.

The names that a failed statement would have bound become unknown, with the reason, and so do
containers that it would have changed. Positions in the file stay.
"""

from __future__ import annotations

import ast
import copy

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

CAUGHT = "__static_caught__"  # what the handlers catch
FAILED = "__static_failed__"  # what they call

_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
_SCOPES = (*_FUNCTIONS, *_COMPREHENSIONS, ast.ClassDef, ast.Lambda)
_EXITS = {"exit", "quit", "sys.exit", "os._exit"}
_CATCH_ALL = {"BaseException"}
_CATCH_IMPORT = {"ImportError", "ModuleNotFoundError", "Exception", *_CATCH_ALL}


class Statement:
    """What the handler needs to know about an instrumented statement."""

    def __init__(self, node: ast.stmt) -> None:
        self.line = node.lineno
        self.annotates = _annotated_name(node)
        binds = set(_bound(node))
        if self.annotates and isinstance(node, ast.AnnAssign) and node.value is None:
            binds.discard(self.annotates)  # it binds only the annotation
        self.binds = sorted(binds)
        self._parts = _parts(node) if isinstance(node, ast.Try) else []
        # A definition changes only what it binds, apart from its decorators.
        defines = isinstance(node, (*_FUNCTIONS, ast.ClassDef))
        runs = node.decorator_list if defines else [node]  # type: ignore[attr-defined]
        self.uses = [*_used(*runs), *_attributes(*runs)]
        names = set() if defines else set(_used(node))
        self.mentions = sorted(names.difference(self.binds))
        self.is_star = isinstance(node, ast.ImportFrom) and node.names[0].name == "*"

    def unknown_after(self, line: int) -> tuple[list[str], list[str]]:
        """Return the names that are unknown after a failure at a line, and names of changed values.

        In a `try`, names that were bound before that line stay known, unless a later part may bind
        them again.
        """
        before = {n: value for part in self._parts if part.end < line for n, value in part.binds}
        after = [part for part in self._parts if part.end >= line]
        anew = {n for part in after for n, value in part.binds if before.get(n) != value}
        known = before.keys() - anew
        changed = [n for part in after for n in part.mentions if n in known]
        return [n for n in self.binds if n not in known], [*self.mentions, *changed]


class Instrumented:
    """An instrumented module: code to run, its statements, the lines of imports that may fail."""

    def __init__(self, source: bytes, file: str) -> None:
        tree = ast.parse(source, file)
        self.statements: list[Statement] = []
        self.optional = {line for node in ast.walk(tree) for line in _optional_imports(node)}
        for node in ast.walk(tree):
            if isinstance(node, ast.Try) or type(node).__name__ == "TryStar":
                _let_refusals_pass(node)
        self.lines = {name: node.lineno for node in tree.body for name in _bound(node)}
        tree.body = self._guard_all(tree.body, in_class=False)
        self.code = compile(ast.fix_missing_locations(tree), file, "exec", dont_inherit=True)

    def _guard_all(self, body: list[ast.stmt], in_class: bool) -> list[ast.stmt]:
        return [self._guard(node, in_class) for node in body]

    def _guard(self, node: ast.stmt, in_class: bool) -> ast.stmt:
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            return node  # a docstring must stay the first statement
        if isinstance(node, ast.ImportFrom) and node.module == "__future__":
            return node
        statement = Statement(node)
        if isinstance(node, ast.ClassDef):
            node.body = self._guard_all(node.body, in_class=True)
        elif isinstance(node, ast.If):
            node.body = self._guard_all(node.body, in_class)
            node.orelse = self._guard_all(node.orelse, in_class)
        elif isinstance(node, ast.Try):
            self._guard_inner_tries(node, in_class)
        self.statements.append(statement)
        call = ast.Call(
            func=ast.Name(id=FAILED, ctx=ast.Load()),
            args=[ast.Constant(value=len(self.statements) - 1)],
            keywords=[],
        )
        instead: list[ast.stmt] = [ast.Expr(value=call)]
        if in_class and isinstance(node, ast.FunctionDef) and node.name == "__init__":
            instead.append(_bare(node))  # it is inspected, not called
        handler = ast.ExceptHandler(
            type=ast.Name(id=CAUGHT, ctx=ast.Load()), name=None, body=instead
        )
        body: list[ast.stmt] = [node]
        if isinstance(node, ast.While):
            # A signal at the backward jump of a loop is raised at the instruction before the loop,
            # which must be inside of the `try`.
            first = ast.Expr(value=ast.Name(id=CAUGHT, ctx=ast.Load()))
            body.insert(0, ast.fix_missing_locations(ast.copy_location(first, node)))
        instrumented = ast.Try(body=body, handlers=[handler], orelse=[], finalbody=[])
        _place(instrumented, node)
        return instrumented

    def _guard_inner_tries(self, node: ast.Try, in_class: bool) -> None:
        """Guard the `try` statements inside of one whose failure the outer one cannot see."""
        for body in (node.body, *(h.body for h in node.handlers), node.orelse, node.finalbody):
            for at, inner in enumerate(body):
                if isinstance(inner, ast.Try) and not any(_may_raise(h) for h in inner.handlers):
                    body[at] = self._guard(inner, in_class)


def _place(instrumented: ast.Try, node: ast.stmt) -> None:
    """Give the new nodes the position of the old one."""
    ast.copy_location(instrumented, node)
    for handler in instrumented.handlers:
        for inner in ast.walk(handler):
            if isinstance(inner, (ast.expr, ast.stmt, ast.excepthandler)):
                ast.copy_location(inner, node)


def _let_refusals_pass(node: Any) -> None:
    """Make a `try` of the model raise a Refusal again."""
    reraise = ast.ExceptHandler(
        type=ast.Name(id="__static_refusal__", ctx=ast.Load()), name=None, body=[ast.Raise()]
    )
    if type(node).__name__ == "TryStar" or not any(
        _catches(h.type, _CATCH_ALL) for h in node.handlers
    ):
        return  # it does not catch a Refusal
    for inner in ast.walk(reraise):
        if isinstance(inner, (ast.expr, ast.stmt, ast.excepthandler)):
            ast.copy_location(inner, node)
    node.handlers.insert(0, reraise)


def _bare(node: ast.FunctionDef) -> ast.FunctionDef:
    """Return a function without the parts that its definition evaluates."""
    bare = copy.deepcopy(node)
    bare.decorator_list, bare.returns = [], None
    arguments = bare.args
    for each in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs):
        each.annotation = None
    for more in (arguments.vararg, arguments.kwarg):
        if more is not None:
            more.annotation = None
    arguments.defaults = [ast.Constant(value=None) for _ in arguments.defaults]
    arguments.kw_defaults = [d and ast.Constant(value=None) for d in arguments.kw_defaults]
    return bare


def _annotated_name(node: ast.stmt) -> str:
    simple = isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name)
    return node.target.id if simple else ""  # type: ignore[attr-defined]


class _Part:
    """A part of a `try`: its last line, the names that it binds and to what, the names it uses.

    The value of a binding is compared for imports: a handler may import the same again.
    """

    def __init__(self, node: Any) -> None:
        self.end = node.end_lineno or 0
        imported = dict(_imported(node))
        self.binds = [
            (n, imported.get(n, f"line {node.lineno}")) for n in sorted(set(_bound(node)))
        ]
        self.mentions = _used(node)


def _attributes(*nodes: ast.AST) -> list[str]:
    return sorted(
        {n.attr for node in nodes for n in ast.walk(node) if isinstance(n, ast.Attribute)}
    )


def _used(*nodes: ast.AST) -> list[str]:
    return sorted({n.id for node in nodes for n in ast.walk(node) if isinstance(n, ast.Name)})


def _parts(node: ast.Try) -> list[_Part]:
    return [_Part(n) for n in (*node.body, *node.handlers, *node.orelse, *node.finalbody)]


def _imported(part: ast.AST) -> Iterator[tuple[str, str]]:
    statements = part.body if isinstance(part, ast.ExceptHandler) else [part]
    for node in statements:
        if isinstance(node, ast.ImportFrom):
            for alias in node.names:
                source = f"from {'.' * node.level}{node.module or ''} import {alias.name}"
                yield alias.asname or alias.name, source
        elif isinstance(node, ast.Import):
            for alias in node.names:
                bound = alias.asname or alias.name.partition(".")[0]
                yield bound, f"import {alias.name if alias.asname else bound}"


def _may_raise(handler: ast.ExceptHandler) -> bool:
    """Return whether a handler may raise."""
    return any(isinstance(node, ast.Raise) for node in ast.walk(handler))


def _always_exits(handler: ast.ExceptHandler) -> bool:
    """Return whether a handler always ends the module."""
    last = handler.body[-1]
    if isinstance(last, ast.Expr) and isinstance(last.value, ast.Call):
        return ast.unparse(last.value.func) in _EXITS
    return isinstance(last, ast.Raise)


def _optional_imports(node: ast.AST) -> Iterator[int]:
    """Yield the lines of imports that may fail without ending the module."""
    if isinstance(node, ast.Try):
        catching = [h for h in node.handlers if _catches(h.type, _CATCH_IMPORT)]
        if not catching or _always_exits(catching[0]):
            return
    elif not isinstance(node, ast.With) or not any(_suppresses(item) for item in node.items):
        return
    for statement in node.body:
        for inner in ast.walk(statement):
            if isinstance(inner, (ast.Import, ast.ImportFrom)):
                yield from range(inner.lineno, (inner.end_lineno or inner.lineno) + 1)


def _suppresses(item: ast.withitem) -> bool:
    call = item.context_expr
    named = isinstance(call, ast.Call) and ast.unparse(call.func).endswith("suppress")
    return named and any(_catches(each, _CATCH_IMPORT) for each in call.args)  # type: ignore[attr-defined]


def _catches(caught: ast.expr | None, names: set[str]) -> bool:
    if caught is None:
        return True
    return any(isinstance(n, ast.Name) and n.id in names for n in ast.walk(caught))


def _bound(node: ast.AST) -> Iterator[str]:
    """Yield the names that a statement binds in its scope."""
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
