"""Expressions that are known without running the model: literals, names, calls that only compute.

All else is an `Unknown`: a class, so that a type may have it as a part, with the reason why.
"""

from __future__ import annotations

import ast
import builtins
import contextlib
import enum
import os
import sys

from ..schema.typeforms import REDUCE, arguments, is_opaque

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any, NoReturn

CONTAINERS = (list, dict, set, bytearray)
# Modules that are imported as they are, with those below them.
_PURE = (
    "__future__ abc annotated_types cog coglet collections dataclasses datetime decimal enum"
    " fractions io json math numbers os pathlib pydantic pydantic_core re string types typing"
    " typing_extensions uuid"
)
PURE = frozenset(_PURE.split())
# Of these are the classes that a class of the model may derive from, besides its own.
_BASES = (
    "builtins enum typing typing_extensions abc numbers collections datetime decimal pathlib"
    " pydantic pydantic_core uuid cog.predictor cog.model cog.coder cog.types"
)
_BUILTINS = (
    "abs all any bool bytes classmethod complex dict divmod enumerate float format frozenset int"
    " isinstance issubclass len list max min object ord pow property range reversed round set"
    " slice sorted staticmethod str sum tuple zip"
)
# What may be called, by module; "" are all classes, or functions, of it.
_CALLED = {
    "builtins": _BUILTINS,
    "cog._batch": "batch",
    "cog._decorators": "concurrent example function streaming tool",
    "cog._openai": "openai",
    "cog.types": "Path Secret URLPath",
    "cog.input": "FieldInfo Input",
    "abc": "abstractmethod",
    "collections": "OrderedDict namedtuple",
    "dataclasses": "dataclass field",
    "datetime": "",
    "decimal": "Decimal",
    "enum": "auto unique",
    "fractions": "Fraction",
    "genericpath": "",
    "json": "dumps loads",
    "math": "",
    "os": "fspath getenv",
    "pathlib": "Path PurePath PurePosixPath PosixPath",
    "posixpath": "",
    "pydantic.config": "ConfigDict",
    "pydantic.fields": "Field",
    "typing": "NamedTuple NewType TypeVar TypedDict cast final overload runtime_checkable",
    "typing_extensions": "NamedTuple NewType TypeVar TypedDict",
    "uuid": "UUID",
}
# Methods of texts and containers that only compute.
_METHODS = (
    "capitalize casefold count difference endswith format get index intersection items join keys"
    " lower lstrip removeprefix removesuffix rsplit rstrip split splitlines startswith strip title"
    " union upper values"
)
_REFUSED = (ast.Lambda, ast.Await, ast.Yield, ast.YieldFrom, ast.NamedExpr)
_NOT_RUN = "it is not run when the source is only read"


class Refusal(BaseException):
    """A value is unknown; file, line and expression say where, reason why.

    It is not an Exception, so that code that catches errors does not catch it.
    """

    def __init__(self, reason: str, expression: str = "", file: str = "", line: int = 0) -> None:
        super().__init__(reason)
        self.reason = reason
        self.expression = expression
        self.file = file
        self.line = line

    def __str__(self) -> str:
        line = f":{self.line}" if self.line else ""
        where = f"{self.file}{line}: " if self.file else ""
        what = f"{self.expression}: " if self.expression else ""
        return f"{where}{what}{self.reason}"


class _Unknown(type):
    """The type of unknown values. Code that needs such a value ends with a Refusal."""

    static_path: str
    static_why: str

    def _refuse(cls, *_: object) -> NoReturn:
        refuse(cls)

    __call__ = __bool__ = __iter__ = __len__ = __repr__ = __str__ = __format__ = _refuse
    __lt__ = __gt__ = __le__ = __ge__ = __contains__ = _refuse

    def __getattr__(cls, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        refuse(cls)

    def __getitem__(cls, key: object) -> Any:
        return cls

    def __eq__(cls, other: object) -> Any:
        if isinstance(other, (str, bytes, int, float, tuple, *CONTAINERS)):
            refuse(cls)
        return cls is other

    def __hash__(cls) -> int:
        return id(cls)


def unknown(path: str, why: str) -> Any:
    """Return an unknown value: its name, and why it is unknown."""
    members = {"static_path": path, "static_why": why, "__module__": "builtins"}
    return _Unknown(path.rpartition(".")[2], (), members)


def is_unknown(value: object) -> bool:
    """Return whether a value is unknown."""
    return type(value) is _Unknown


def refuse(value: Any) -> NoReturn:
    """Say that a value is needed that is unknown."""
    raise Refusal(value.static_why, value.static_path)


_ALIAS: Any = type(list[int])


class _StandInType(type):
    """The type of a class of which only the name is known."""

    def __getitem__(cls, key: Any) -> Any:
        if cls.__name__ == "NDArray":
            return STAND_INS["numpy.ndarray"][object, STAND_INS["numpy.dtype"][key]]
        return _ALIAS(cls, key)


_NUMPY_ALIASES = (
    "bool=bool_ half=float16 single=float32 double=float64 byte=int8 ubyte=uint8 short=int16"
    " ushort=uint16 intc=int32 uintc=uint32 int_=int64 uint=uint64 intp=int64 uintp=uint64"
    " longlong=int64 ulonglong=uint64"
)
_NUMPY_SCALARS = (
    "bool_ int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 float32 float64 generic"
    " number integer signedinteger unsignedinteger inexact floating dtype ndarray typing.NDArray"
)


def _stand_ins() -> dict[str, Any]:
    """Return classes for names in annotations that need no library."""
    made: dict[str, Any] = {}
    for path in (*(f"numpy.{n}" for n in _NUMPY_SCALARS.split()), "torch.Tensor", "jax.Array"):
        module, _, name = path.rpartition(".")
        bases = (float,) if name == "float64" else ()
        made[path] = _StandInType(name, bases, {"__module__": module})
    for pair in _NUMPY_ALIASES.split():
        name, _, other = pair.partition("=")
        made[f"numpy.{name}"] = made[f"numpy.{other}"]
    return made


STAND_INS = _stand_ins()


class Expressions(ast.NodeTransformer):
    """Checks expressions of a module, and puts names of unknown values into them.

    Its methods return the expression to evaluate, or raise a Refusal. hidden are the unknown values
    that were put there.
    """

    def __init__(self, space: dict[str, Any]) -> None:
        self.space = space
        self.hidden: list[Any] = []
        self._scopes: list[set[str]] = []  # names of classes and comprehensions
        self._lenient = False  # an unknown part is a name of it, instead of a Refusal
        self._late = sys.version_info >= (3, 14)  # annotations are evaluated later

    @contextlib.contextmanager
    def scope(self, names: set[str] | None = None) -> Iterator[set[str]]:
        """Know more names while a class or an expression is read; that set may grow."""
        self._scopes.append(set() if names is None else names)
        try:
            yield self._scopes[-1]
        finally:
            self._scopes.pop()

    def plain(self, node: ast.expr) -> Any:
        """Return an expression of which all is known."""
        return self._reduce(node, False)

    def value(self, node: ast.expr) -> Any:
        """Return an expression; if it is unknown, the name of an unknown value."""
        try:
            return self._reduce(node, False)
        except Refusal as refusal:
            path = refusal.expression or ast.unparse(node)[:60]
            return self.hide(unknown(path, refusal.reason))

    def annotation(self, node: ast.expr, postponed: bool = False) -> Any:
        """Return an annotation, of which parts may be unknown; with postponed, quoted."""
        return self._reduce(ast.Constant(ast.unparse(node)) if postponed else node, True)

    def quoted(self, text: str) -> Any:
        """Return the code of a quoted annotation."""
        try:
            tree = ast.parse(text, mode="eval")
        except (SyntaxError, ValueError):
            return text
        late, self._late = self._late, True
        tree.body = self._reduce(tree.body, True)
        self._late = late
        return compile(ast.fix_missing_locations(tree), "<annotation>", "eval")

    def hide(self, value: Any) -> Any:
        """Return a name of a value."""
        self.hidden.append(value)
        name = f"__static_{len(self.hidden)}__"
        self.space[name] = value
        return ast.Name(name, ast.Load())

    def decorator(self, node: ast.expr) -> Any:
        """Return a decorator, which is a function that only computes, or makes one."""
        if not isinstance(node, ast.Call):
            self._check_called(node)
        return self.plain(node)

    def base(self, node: ast.expr) -> Any:
        """Return a base class, which does nothing when it is derived from."""
        value = self._value_of(node.value if isinstance(node, ast.Subscript) else node)
        module = getattr(value, "__module__", None) or ""
        own = hasattr(sys.modules.get(module), REDUCE)
        if value is not None and not is_unknown(value) and not own:
            known = _BASES.split()
            if module not in known and module.partition(".")[0] not in known:
                raise Refusal(_NOT_RUN, ast.unparse(node)[:60])
        return self.plain(node)

    def _reduce(self, node: ast.expr, lenient: bool) -> Any:
        stores = {n.id for n in ast.walk(node) if isinstance(n, ast.Name) and _is_stored(n)}
        before, self._lenient = self._lenient, lenient
        try:
            with self.scope(stores):
                return self.visit(node)
        except RecursionError:
            raise Refusal("it is nested too deeply") from None
        finally:
            self._lenient = before

    def visit(self, node: ast.AST) -> Any:
        """Reduce a node."""
        if not self._lenient or not isinstance(node, ast.expr):
            return super().visit(node)
        try:
            return super().visit(node)
        except Refusal as refusal:
            path = refusal.expression or ast.unparse(node)[:60]
            made = STAND_INS.get(path) or unknown(path, refusal.reason)
            return ast.copy_location(self.hide(made), node)

    def generic_visit(self, node: ast.AST) -> Any:
        """Reduce an expression of parts."""
        if isinstance(node, _REFUSED):
            raise Refusal(_NOT_RUN, ast.unparse(node)[:60])
        return super().generic_visit(node)

    def visit_Constant(self, node: ast.Constant) -> Any:
        """Reduce quoted types with calls, which the standard library and pydantic evaluate."""
        if self._lenient and isinstance(node.value, str) and "(" in node.value:
            with contextlib.suppress(SyntaxError, ValueError):
                tree = ast.parse(node.value, mode="eval")
                return ast.copy_location(ast.Constant(ast.unparse(self.visit(tree.body))), node)
        return node

    def visit_Name(self, node: ast.Name) -> Any:
        """Refuse names of unknown values."""
        if _is_stored(node) or any(node.id in scope for scope in self._scopes):
            return node
        if self._lenient and self._late and node.id not in self._known():
            return node
        self._check(node, self.resolve(node))
        return node

    def visit_Attribute(self, node: ast.Attribute) -> Any:
        """Refuse attributes of unknown values."""
        root = self._root(node)
        if root is None:
            return self.generic_visit(node)
        if not any(root in scope for scope in self._scopes):
            value = self.resolve(node)
            if value in STAND_INS.values():
                return ast.copy_location(self.hide(value), node)
            self._check(node, value)
        return node

    def visit_Subscript(self, node: ast.Subscript) -> Any:
        """Reduce a type with parts that may be unknown, or an item of a container."""
        path = self.path(node)
        value = self.visit(node.value)
        if path and not self._lenient:
            raise Refusal(self._why_of(node), path)
        is_type = not isinstance(self._value_of(node.value), (*CONTAINERS, str, tuple, type(None)))
        lenient, self._lenient = self._lenient, self._lenient or is_type
        index = self.visit(node.slice)
        self._lenient = lenient
        return ast.copy_location(ast.Subscript(value, index, node.ctx), node)

    def visit_Call(self, node: ast.Call) -> Any:
        """Reduce a call of a function that only computes."""
        lenient, self._lenient = self._lenient, False
        try:
            called = self._check_called(node.func)
            each = self.value if getattr(called, "__module__", "") == "cog.input" else self.plain
            function = self.visit(node.func)
            args = list(map(each, node.args))
            keywords = [
                ast.keyword(k.arg, (self.plain if k.arg == "choices" else each)(k.value))
                for k in node.keywords
            ]
            for given in (*node.args, *(k.value for k in node.keywords)):
                value = self._value_of(given)
                if callable(value) and not is_unknown(value) and not self._may_call(value):
                    raise Refusal(_NOT_RUN, ast.unparse(given)[:60])
        finally:
            self._lenient = lenient
        return ast.copy_location(ast.Call(function, args, keywords), node)

    def visit_List(self, node: Any) -> Any:
        """Reduce a list, tuple or set, whose members may be unknown."""
        if isinstance(getattr(node, "ctx", None), ast.Store):
            return node
        node.elts = [self._member(each) for each in node.elts]
        return node

    visit_Tuple = visit_Set = visit_List  # noqa: N815

    def visit_Dict(self, node: ast.Dict) -> Any:
        """Reduce a dict, whose values may be unknown."""
        node.keys = [key and self.visit(key) for key in node.keys]
        node.values = list(map(self._member, node.values))
        return node

    def _member(self, node: ast.expr) -> Any:
        known = self._lenient or isinstance(node, ast.Starred)
        return self.visit(node) if known else self.value(node)

    def _known(self) -> Any:
        return {**vars(builtins), **self.space}

    def resolve(self, node: ast.expr) -> Any:
        """Return the value of a name with attributes; raise a Refusal if it is none."""
        if isinstance(node, ast.Name):
            known = self._known()
            if node.id not in known:
                raise Refusal(f"NameError: name {node.id!r} is not defined")
            return known[node.id]
        if not isinstance(node, ast.Attribute):
            raise Refusal(_NOT_RUN, ast.unparse(node)[:60])
        value = self.resolve(node.value)
        if is_unknown(value):
            return self.foreign(f"{value.static_path}.{node.attr}", value.static_why)
        return getattr(value, node.attr)

    def foreign(self, path: str, why: str) -> Any:
        """Return what is at a path in an unknown module."""
        return STAND_INS.get(path) or unknown(path, why)

    def path(self, node: ast.expr) -> str:
        """Return the path of an unknown value as torch.device(…), "" for a known one."""
        found = self._unknown_of(node)
        return "" if found is None else found.static_path

    def _why_of(self, node: ast.expr) -> str:
        return str(self._unknown_of(node).static_why)

    def _unknown_of(self, node: ast.expr) -> Any:
        if isinstance(node, (ast.Call, ast.Subscript)):
            inner = self._unknown_of(node.func if isinstance(node, ast.Call) else node.value)
            end = "(…)" if isinstance(node, ast.Call) else "[…]"
            return None if inner is None else unknown(inner.static_path + end, inner.static_why)
        if isinstance(node, ast.Attribute):
            inner = self._unknown_of(node.value)
            if inner is not None:
                made = self.foreign(f"{inner.static_path}.{node.attr}", inner.static_why)
                return made if is_unknown(made) else None
        value = self._value_of(node)
        return value if is_unknown(value) else None

    def _value_of(self, node: ast.expr) -> Any:
        """Return the value of a name with attributes, None for another expression."""
        root = self._root(node)
        if root is None or any(root in scope for scope in self._scopes):
            return None
        try:
            return self.resolve(node)
        except (Refusal, Exception):
            return None

    def _root(self, node: ast.expr) -> str | None:
        while isinstance(node, ast.Attribute):
            node = node.value
        return node.id if isinstance(node, ast.Name) else None

    def _check(self, node: ast.expr, value: Any) -> None:
        if is_unknown(value):
            refuse(value)
        if callable(value) and not isinstance(value, type) and not self._may_call(value):
            module = getattr(value, "__module__", None)
            if type(value).__name__ in ("builtin_function_or_method", "method") or (
                type(value).__name__ == "function" and module != self.space["__name__"]
            ):
                raise Refusal(_NOT_RUN, ast.unparse(node)[:60])

    def _check_called(self, node: ast.expr) -> Any:
        """Return the function of a name with attributes; raise a Refusal if it may not be run."""
        found = self._unknown_of(ast.Call(node, [], []))
        if found is not None:
            refuse(found)
        if (
            self._root(node) is None
            and isinstance(node, ast.Attribute)
            and node.attr in _METHODS.split()
        ):
            return None
        value = self._value_of(node)
        if value is None or not self._may_call(value):
            raise Refusal(_NOT_RUN, f"{ast.unparse(node)[:60]}(…)")
        return value

    def _may_call(self, value: Any) -> bool:
        owner = getattr(value, "__self__", None)
        if type(owner) in (str, bytes, list, tuple, dict, set, frozenset, type(os.environ)):
            return value.__name__ in _METHODS.split()
        if isinstance(value, enum.EnumMeta) or hasattr(value, "__dataclass_fields__"):
            return True
        module = getattr(value, "__module__", None) or ""
        name = getattr(value, "__name__", "")
        if module not in _CALLED or "." in getattr(value, "__qualname__", name):
            return False
        return not _CALLED[module] or name in _CALLED[module].split()


def _is_stored(node: ast.Name) -> bool:
    return not isinstance(node.ctx, ast.Load)


def find_unknown(value: Any, depth: int = 20) -> Any:
    """Return the first unknown value in a value, in containers and parts of types, or None.

    A type inside of `cog.Opaque` may be unknown.
    """
    if is_unknown(value):
        return value
    if depth == 0 or isinstance(value, (str, bytes, int, float)):
        return None
    parts: list[Any] = []
    if isinstance(value, dict):
        parts += [*value.keys(), *value.values()]
    elif isinstance(value, (list, tuple, set, frozenset)):
        parts += value
    elif type(value).__name__ == "FieldInfo":
        parts += [getattr(value, name) for name in value.__match_args__]
    else:
        parts += () if is_opaque(value) else arguments(value)
        marks = getattr(value, "__metadata__", ())
        parts += [mark for mark in marks if type(mark).__name__ == "FieldInfo"]
    for part in parts:
        inner = find_unknown(part, depth - 1)
        if inner is not None:
            return inner
    return None
