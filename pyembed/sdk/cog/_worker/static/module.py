"""Evaluating the modules of a model without their foreign imports."""

from __future__ import annotations

import builtins
import importlib.machinery
import os
import sys
from types import ModuleType

from .effects import CHANGEABLE, forget_changed
from .instrument import CAUGHT, FAILED, Instrumented, Statement
from .names import PURE, make_builtins, make_importlib, make_os, make_pkgutil, make_sys
from .unknown import Refusal, Unknown, is_unknown

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_PARTIAL = ("importlib", "os", "pkgutil", "sys")  # modules of which only some names exist


class StaticReader:
    """Reads the modules of one model. They are in sys.modules while it is open.

    Quoted annotations are looked up there, by our code and by the standard library.
    """

    def __init__(self, root: str) -> None:
        self.root = root
        self.path = [root]
        self.star: Refusal | None = None  # a `from x import *` after which any name may be defined
        self._made: dict[str, ModuleType] = {"os": make_os(), "sys": make_sys(self.path)}
        self._made["importlib"] = make_importlib(self._import_named)
        self._made["pkgutil"] = make_pkgutil()
        self._own: set[str] = set()
        self._files: set[str] = set()
        self._before: dict[str, ModuleType | None] = {}
        self._lines: dict[str, dict[str, int]] = {}  # file: name: the line that binds it

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
        if name in self._own:
            return self._made[name]
        module = ModuleType(name)
        space = vars(module)
        space["__file__"] = file
        space["__package__"] = name if folders is not None else name.rpartition(".")[0]
        if folders is not None:
            space["__path__"] = folders
        self._made[name] = module
        self._own.add(name)
        self._before.setdefault(name, sys.modules.get(name))
        sys.modules[name] = module
        if file:
            self._run(module, file)
        return module

    def read_packages(self, parts: list[str]) -> None:
        """Read the packages that the model's file lies in, outermost first."""
        self._find_all(".".join(parts))

    def _run(self, module: ModuleType, file: str) -> None:
        self._files.add(file)
        with open(file, "rb") as source:
            text = source.read()
        try:
            instrumented = Instrumented(text, file)
        except SyntaxError as exc:
            raise Refusal(f"SyntaxError: {exc.msg}", "", self.shown(file), exc.lineno or 0) from exc
        self._lines[file] = instrumented.lines

        def load(
            name: str, space: Any = None, local: Any = None, wanted: Any = (), level: int = 0
        ) -> Any:
            # The caller's line: an import may be inside of a function.
            optional = sys._getframe(1).f_lineno in instrumented.optional
            return self._import(name, space or {}, tuple(wanted or ()), level, optional)

        def failed(index: int) -> None:
            error = sys.exc_info()[1]
            if error is not None:
                statement = instrumented.statements[index]
                frame = sys._getframe(1)
                reason = str(self.refusal_of(error))
                if statement.is_star and self.star is None:
                    self.star = Refusal(reason)
                at = error.__traceback__
                line = at.tb_lineno if at is not None and at.tb_frame is frame else 0
                self._forget_changed(statement, frame, reason)
                _forget(frame.f_locals, frame.f_globals, statement, line, reason)

        space = vars(module)
        space["__builtins__"] = {
            **make_builtins(load),
            CAUGHT: (Refusal, Exception, SystemExit),
            "__static_refusal__": Refusal,
            FAILED: failed,
        }
        exec(instrumented.code, space)  # noqa: S102, reading is running this

    def _forget_changed(self, statement: Statement, frame: Any, reason: str) -> None:
        importlib = self._made["importlib"]
        imports = (importlib, vars(importlib)["import_module"])
        own = [self._made[name] for name in self._own]
        forget_changed(statement.uses, frame.f_locals, frame.f_globals, imports, own, reason)

    def refusal_of(self, error: BaseException) -> Refusal:
        """Return why the reading ended, with the innermost place in the model."""
        refusal = (
            error if isinstance(error, Refusal) else Refusal(f"{type(error).__name__}: {error}")
        )
        if not refusal.file:
            at = error.__traceback__
            while at is not None:
                file = at.tb_frame.f_code.co_filename
                if file in self._files:
                    refusal.file, refusal.line = self.shown(file), at.tb_lineno
                at = at.tb_next
        if not refusal.file and refusal.made_at[0] in self._files:
            refusal.file, refusal.line = self.shown(refusal.made_at[0]), refusal.made_at[1]
        return refusal

    def line_of(self, file: str, *names: str) -> int:
        """Return the line that last binds the first known of the names; 0 without one."""
        lines = self._lines.get(file, {})
        return next((lines[name] for name in names if name in lines), 0)

    def shown(self, file: str) -> str:
        """Return a file's path below the model's folder, for messages."""
        prefix = self.root.rstrip(os.sep) + os.sep
        return file[len(prefix) :] if file.startswith(prefix) else file

    def _import(self, name: str, space: Any, wanted: tuple[str, ...], level: int, opt: bool) -> Any:
        if level > 0:
            package = str(space.get("__package__") or "")
            base = package.rsplit(".", level - 1)[0] if level > 1 else package
            if not base:
                raise ImportError("attempted relative import with no known parent package")
            name = f"{base}.{name}" if name else base
        top = name.partition(".")[0]
        if name == "os.path":
            return self._made["os"].path if wanted else self._made["os"]
        if name in _PARTIAL or (top in _PARTIAL and not wanted):
            return self._made[top]
        if not is_taken(top) and self._find_all(name):
            return self._own_module(name, wanted)
        if top in PURE:
            try:
                return builtins.__import__(name, {}, {}, wanted, 0)
            except ModuleNotFoundError:
                if top in sys.stdlib_module_names or top in ("cog", "coglet"):
                    raise
        return self._foreign(name, top, wanted, opt)

    def _import_named(self, name: str) -> Any:
        """Import a module by a computed name, and return that module itself."""
        return self._import(name, {}, ("__name__",), 0, False)

    def _foreign(self, name: str, top: str, wanted: tuple[str, ...], optional: bool) -> Unknown:
        if optional and top not in sys.builtin_module_names and not _installed(top):
            raise Refusal(f"it depends on whether {top} is installed", f"import {name}")
        if "*" in wanted:
            raise Refusal(
                f"the names in {name} are unknown when the source is only read",
                f"from {name} import *",
            )
        return Unknown(
            name if wanted else top, f"{top} is not imported when the source is only read"
        )

    def _own_module(self, name: str, wanted: tuple[str, ...]) -> ModuleType:
        leaf = self._find_all(name)[-1]
        module = self._made[leaf]
        for item in wanted:
            if item != "*" and not hasattr(module, item) and hasattr(module, "__path__"):
                self._find_all(f"{leaf}.{item}")
        return module if wanted else self._made[name.partition(".")[0]]

    def _find_all(self, name: str) -> list[str]:
        """Read the packages above a module and then itself; return their names, [] for none."""
        places, made = self.path, []
        parts = name.split(".")
        for depth in range(1, len(parts) + 1):
            part = ".".join(parts[:depth])
            module = self._made.get(part) if part in self._own else self._find(part, places)
            if module is None:
                return []
            if depth > 1:
                parent = self._made[".".join(parts[: depth - 1])]
                vars(parent).setdefault(parts[depth - 1], module)
            made.append(part)
            places = getattr(module, "__path__", [])
        return made

    def _find(self, name: str, places: list[str]) -> ModuleType | None:
        last = name.rpartition(".")[2]
        for place in places:
            folder = os.path.join(self.root, place, last)
            if os.path.isfile(os.path.join(folder, "__init__.py")):
                return self.read(name, os.path.join(folder, "__init__.py"), [folder])
            if os.path.isfile(folder + ".py"):
                return self.read(name, folder + ".py")
        for place in places:
            folder = os.path.join(self.root, place, last)
            if os.path.isdir(folder):
                return self.read(name, "", [folder])
        return None


def is_taken(name: str) -> bool:
    """Return whether a module of this name is Python's, even if the model has such a file."""
    return name in PURE or name in _PARTIAL


def _installed(name: str) -> bool:
    finder = importlib.machinery.PathFinder
    return name in sys.stdlib_module_names or finder.find_spec(name) is not None


def _forget(local: Any, module: Any, statement: Statement, line: int, reason: str) -> None:
    """Set to Unknown what a statement that failed at a line would have bound or changed."""
    unknown, changed = statement.unknown_after(line)
    for name in unknown:
        local[name] = Unknown(name, reason)
    if statement.annotates:
        local.setdefault("__annotations__", {})[statement.annotates] = Unknown(
            statement.annotates, reason
        )
    for name in changed:
        for space in (local, module):
            value = space.get(name)
            if not is_unknown(value) and isinstance(value, CHANGEABLE):
                space[name] = Unknown(name, reason)
