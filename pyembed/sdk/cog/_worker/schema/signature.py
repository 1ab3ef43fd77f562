"""The inputs and the output of a predict function."""

from __future__ import annotations

from ...errors import LoadError
from ...input import FieldInfo
from .annotations import Reader
from .parameters import (
    CO_VARARGS,
    CO_VARKEYWORDS,
    VARIABLE,
    Parameter,
    input_name,
    read_declaration,
    read_parameters,
)
from .typeforms import Names, show
from .types import (
    Anything,
    Choice,
    Kind,
    Listing,
    Nullable,
    OneOf,
    SecretKind,
    Streamed,
    Unsupported,
    Untyped,
    strip,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any


CO_GENERATOR, CO_COROUTINE, CO_ASYNC_GENERATOR = 0x20, 0x80, 0x200


class Field:
    """One input: a parameter of the predict function.

    `default` is the value in the source; `has_default` says whether there is
    one, `required` whether a request must bring the input, `native` whether
    Python fills the default in, as for all defaults outside of Input().
    `none_default` says that the default is None and the type has no None.
    `parameter` is the name of the function's parameter. `default_fits` is false
    for a default of another type, which is passed unchanged.
    `warnings` are warnings about the declaration, which do not stop it from being served.
    """

    def __init__(
        self,
        name: str,
        order: int,
        kind: Kind,
        info: FieldInfo,
        declared: bool,
        native: bool = False,
    ) -> None:
        if isinstance(kind, SecretKind) and declared and info.default is None:
            kind = Nullable("Secret | None", kind)
        self.name = self.parameter = name
        self.order = order
        self.info = info
        self.native = native
        self.default: Any = info.default
        self.default_fits = True
        self.warnings: list[str] = []
        self.source: Source | None = None
        self._take(kind, declared)

    def _take(self, kind: Kind, declared: bool) -> None:
        self.kind = kind
        nullable = isinstance(kind, Nullable)
        # The default None makes an input optional only if its type has None.
        self.has_default = self.default is not None or (declared and nullable)
        self.none_default = declared and self.default is None and not nullable
        optional = isinstance(kind, Nullable) and not isinstance(kind.inner, OneOf)
        self.required = not (self.has_default or optional)
        self.choices = _choices(kind)

    def allow_none(self) -> None:
        """Let the input be None, also if a request leaves it out."""
        self._take(Nullable(f"{self.kind.name} | None", self.kind), True)

    def __repr__(self) -> str:
        return f"<Field {self.name}: {self.kind.name}>"


class Signature:
    """The inputs in order, the output, and the place of the function.

    `open` says that any input is accepted, because the function takes only **kwargs. `warnings` are
    warnings, with their places.
    """

    def __init__(self, source: Source, inputs: list[Field], output: Kind) -> None:
        self.name = source.qualname
        self.open = False
        self.warnings: list[str] = []
        self.inputs = inputs
        self.output = output
        self.file = source.shown
        self.line = source.line

    @property
    def streamed(self) -> Field | None:
        """The streamed input, or None."""
        return next((field for field in self.inputs if isinstance(field.kind, Streamed)), None)

    def __repr__(self) -> str:
        return f"<Signature {self.name}>"


class Source:
    """A function in the source: its place, for messages, and the names in its annotations.

    `inner` is the function that its decorators wrap, whose first `bound` parameters are bound.
    `name` is used for a function without a name, such as a partial.
    """

    def __init__(self, function: Any, root: str, name: str = "") -> None:
        self.function = function
        self.inner, self.bound = unwrap(function)
        self.code = getattr(self.inner, "__code__", None)
        self.flags: int = getattr(self.code, "co_flags", 0)
        qualname = getattr(self.inner, "__qualname__", None) or name or repr(function)
        self.qualname: str = qualname.rpartition("<locals>.")[2]
        self.names = Names(getattr(self.inner, "__globals__", {}), _class_names(function))
        self.file = self.code.co_filename if self.code is not None else ""
        self.line = self.code.co_firstlineno if self.code is not None else 0
        self.shown = self.file[len(root) :].lstrip("/") if self.file.startswith(root) else self.file

    def error(self, parameter: str, message: str) -> LoadError:
        """Return the error for a parameter ("" for the function, "return" for its result)."""
        return LoadError(self.locate(parameter, message))

    def locate(self, parameter: str, message: str) -> str:
        """Return a message with its place in front; see error()."""
        parameter = input_name(parameter, self.qualname)
        line = self._line_of(parameter)
        where = f"{self.shown}:{line}: " if self.shown else ""
        if parameter == "return":
            what = f"the return type of {self.qualname}"
        elif parameter:
            what = f'parameter "{parameter}" of {self.qualname}'
        else:
            what = self.qualname
        return f"{where}{what}: {message}"

    def _line_of(self, parameter: str) -> int:
        """Return the line of a parameter; that of its function if the source cannot be read."""
        try:
            # Slower than loading a model, so only done for messages.
            import ast

            with open(self.file, encoding="utf-8") as file:
                tree = ast.parse(file.read())
            for node in ast.walk(tree):
                if not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
                    continue
                first = min([node.lineno, *(d.lineno for d in node.decorator_list)])
                if self.line not in (first, node.lineno):
                    continue
                if parameter == "return":
                    return node.returns.lineno if node.returns else node.lineno
                spec = node.args
                for arg in (*spec.posonlyargs, *spec.args, *spec.kwonlyargs):
                    if arg.arg == parameter:
                        return arg.lineno
                return node.lineno
        except Exception:
            return self.line
        return self.line


def read_signature(
    function: Callable[..., Any], root: str = "", excuse: Callable[[LoadError], bool] | None = None
) -> Signature:
    """Return the signature of a predict function, checked; raise LoadError if it has faults.

    excuse, if given, is called with each fault of an input or output. If it returns true, the input
    or output has any type.
    """
    from . import constraints

    source = Source(function, root)
    parameters, variable, returns = read_parameters(source)
    inputs = []
    for order, parameter in enumerate(parameters):
        try:
            field = read_field(parameter, order, source)
            problem = constraints.problem(field)
            if problem:
                raise source.error(parameter.name, problem)
        except LoadError as fault:
            field = _anything(parameter, order)
            if excuse is None or constraints.problem(field) or not excuse(fault):
                raise
        inputs.append(field)
    try:
        output = read_output(returns, source)
    except LoadError as fault:
        if excuse is None or not excuse(fault):
            raise
        output = Untyped("anything")
    signature = Signature(source, inputs, output)
    first = signature.streamed
    for field in inputs:
        if isinstance(field.kind, Streamed) and field is not first:
            what = f'"{first.name}" is one too' if first is not None else ""
            raise source.error(
                field.parameter, f"a function can have one streamed input, and {what}; take a list"
            )
    if variable:
        signature.open = bool(variable & CO_VARKEYWORDS)
        if excuse is None or not excuse(source.error("", VARIABLE)):
            signature.warnings.append(source.locate("", VARIABLE))
    return signature


def _class_names(function: Any) -> dict[str, Any]:
    """Return the names of a method's class, which its annotations may use."""
    owner = getattr(function, "__self__", None)
    return {} if owner is None else _class_names_of(owner)


def _class_names_of(owner: Any) -> dict[str, Any]:
    cls = owner if isinstance(owner, type) else type(owner)
    return {
        name: value for base in reversed(cls.__mro__[:-1]) for name, value in vars(base).items()
    }


def unwrap(function: Any) -> tuple[Any, int]:
    """Return the innermost function, and how many leading parameters are bound.

    It follows decorators, with functools.wraps or without, but no partials: only
    inspect knows their remaining parameters.
    """
    bound = 0
    owner = getattr(function, "__self__", None)
    for _ in range(100):  # a decorator may, by mistake, wrap itself
        function, more = outermost(function)
        bound += more
        wrapped = None
        if not _is_partial(function):
            wrapped = getattr(function, "__wrapped__", None) or _replaced(function, owner)
        if wrapped is None:
            break
        function = wrapped
    return function, bound


def _replaced(wrapper: Any, owner: Any) -> Any:
    """Return the function that a decorator without functools.wraps has replaced by wrapper.

    The function is in the wrapper's closure, or in a nested one, and its name now refers to the
    wrapper.
    """
    code = getattr(wrapper, "__code__", None)
    if code is None or not code.co_flags & (CO_VARARGS | CO_VARKEYWORDS):
        return None
    below, seen = [wrapper], []
    while below:
        function = below.pop()
        if function in seen:
            continue
        seen.append(function)
        name = getattr(function, "__name__", "")
        names = function.__globals__ if owner is None else _class_names_of(owner)
        if function is not wrapper and names.get(name) is wrapper:
            return function
        for cell in function.__closure__ or ():
            try:
                inner, _ = outermost(cell.cell_contents)
            except ValueError:  # a variable that has no value yet
                continue
            if hasattr(inner, "__code__") and hasattr(inner, "__closure__"):
                below.append(inner)
    return None


def outermost(function: Any) -> tuple[Any, int]:
    """Return the function that a method or a callable object calls, and its bound parameters."""
    bound = 0
    if not hasattr(function, "__code__") and not _is_partial(function):
        call = getattr(type(function), "__call__", None)  # noqa: B004, its code is wanted
        if hasattr(call, "__code__"):
            function, bound = call, 1
    if type(function).__name__ == "method":
        function, bound = function.__func__, bound + 1
    return function, bound


def _is_partial(function: Any) -> bool:
    return type(function).__name__ == "partial" and hasattr(function, "func")


def code_flags(function: Any) -> int:
    """Return the flags of the code that a call of the function runs."""
    function, _ = outermost(function)
    while hasattr(function, "func") and type(function).__name__ == "partial":
        function, _ = outermost(function.func)
    code = getattr(function, "__code__", None)
    flags: int = code.co_flags if code is not None else 0
    return flags


def is_coroutine_function(function: Any) -> bool:
    """Return whether a call of the function returns a coroutine; False for None."""
    return function is not None and bool(code_flags(function) & CO_COROUTINE)


def attribute_of(function: Any, name: str, default: Any) -> Any:
    """Return an attribute that a decorator set, also below other decorators."""
    inner, _ = unwrap(function)
    return getattr(function, name, getattr(inner, name, default))


def read_field(parameter: Parameter, order: int, source: Source) -> Field:
    """Return the input that a parameter declares; raise LoadError if it has a fault."""
    name = parameter.name
    if not parameter.annotated:
        raise source.error(
            name,
            f"it has no type; annotate it, as in `{name}: str`, so that requests can be checked",
        )
    reader = Reader(source.names, is_input=True)
    try:
        kind = reader.read(parameter.annotation)
        declaration = read_declaration(parameter, reader)
    except Unsupported as exc:
        raise source.error(name, str(exc)) from exc
    info, warnings = declaration.info, []
    if reader.has_unused_inputs(declaration.used):
        warnings.append(
            f"Input() inside of {show(parameter.annotation)} has no effect; "
            "it must apply to the whole parameter"
        )
    from . import constraints

    if info.choices is not None:
        kind, problem = constraints.with_choices(kind, info.choices)
        if problem:
            raise source.error(name, problem)
    field = Field(name, order, kind, info, declaration.declared, declaration.native)
    field.name = input_name(name, source.qualname)
    field.source = source
    field.default_fits = info.default is None or not constraints.mismatch(kind, info.default)
    field.warnings = warnings + constraints.warnings(field)
    return field


def _anything(parameter: Parameter, order: int) -> Field:
    """Return an input of any type, with its default."""
    info, declared, native = FieldInfo(), parameter.declared, parameter.declared
    if isinstance(parameter.default, FieldInfo):
        info, native = FieldInfo(parameter.default.default), False
        declared = parameter.default.has_default
    kind: Kind = Anything("Any")
    if declared and info.default is None:
        kind = Nullable("Any | None", kind)
    return Field(parameter.name, order, kind, info, declared, native)


def read_output(returns: tuple[bool, object], source: Source) -> Kind:
    """Return the kind of a return type; raise LoadError if it has a fault."""
    annotated, annotation = returns
    if not annotated:
        return Untyped("anything")
    try:
        kind = Reader(source.names, is_input=False).read(annotation)
    except Unsupported as exc:
        raise source.error("return", str(exc)) from exc
    if isinstance(kind, Nullable):
        raise source.error(
            "return",
            f"{show(annotation)} is optional; a prediction returns a value or fails with an error",
        )
    if isinstance(kind, OneOf):
        raise source.error(
            "return",
            f"{show(annotation)} is a union; clients need one type: return a cog.BaseModel "
            "with optional members, or annotate it as Any",
        )
    return kind


def _choices(kind: Kind) -> Choice | None:
    """Return the choice of a kind, or of its items."""
    inner = strip(kind)
    if isinstance(inner, Listing):
        inner = strip(inner.inner)
    return inner if isinstance(inner, Choice) else None
