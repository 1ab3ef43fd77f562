"""What importing the package costs: nothing but itself. What its modules import of one another."""

import ast
from collections.abc import Iterator
from graphlib import TopologicalSorter
from pathlib import Path

from programs import python

PACKAGE = Path(__file__).parents[1] / "cog"

HEAVY = {
    "asyncio", "collections", "contextlib", "dataclasses", "enum", "functools", "importlib.util",
    "inspect", "json", "logging", "mimetypes", "numpy", "pathlib", "pydantic", "re", "requests",
    "tempfile", "threading", "traceback", "typing", "urllib", "urllib.parse", "urllib.request",
    "warnings",
}  # fmt: skip


def loaded_by(code: str) -> set[str]:
    """Return the modules that a fresh interpreter loads for some code."""
    # os is there in every interpreter that has its site module; -S keeps out
    # what an environment's .pth files import besides.
    script = f"import sys, os; before = set(sys.modules); {code}; print(*sorted(set(sys.modules) - before))"
    return set(python(script, flags=["-S"]).stdout.split())


def test_cog_alone_loads_nothing():
    assert loaded_by("import cog") == {"cog"}


def test_what_models_import_first_loads_no_standard_library():
    names = "BaseRunner, BasePredictor, Input, Secret, ConcatenateIterator, current_scope, streaming"
    loaded = loaded_by(f"from cog import {names}, concurrent, CancelationException, Opaque")
    assert {name for name in loaded if not name.startswith("cog")} <= {"__future__", "_contextvars"}


def test_worker_modules_load_no_standard_library():
    loaded = loaded_by(
        "from cog._worker import errors, scope; from cog._worker.model import load; "
        "from cog._worker.schema import document; from cog._worker.values import coerce, encode"
    )
    assert {name for name in loaded if not name.startswith("cog")} <= {"__future__", "_contextvars"}


def test_serving_a_simple_model_loads_nothing_heavy(tmp_path):
    (tmp_path / "run.py").write_text(
        "from cog import BaseRunner, Input\n"
        "class Runner(BaseRunner):\n"
        "    def run(self, text: str = Input(), n: int = Input(1, ge=0)) -> str:\n"
        "        return text * n\n"
    )
    loaded = loaded_by(
        "from cog._worker import scope; from cog._worker.model import load; "
        "from cog._worker.schema import document; from cog._worker.values import coerce, encode; "
        f"p = load.load_predictor('run.py:Runner', {str(tmp_path)!r}); "
        "d = document.openapi(p); f = coerce.make_prepare(p.signature); "
        "t = scope.enter(scope.Scope(None)); encode.encode([p.function(**f({'text': 'a'}))])"
    )
    assert loaded & HEAVY == set()


def test_a_worker_starts_with_nothing_but_what_the_interpreter_has(tmp_path):
    (tmp_path / "run.py").write_text(
        "from cog import BaseRunner\n"
        "class Runner(BaseRunner):\n"
        "    def run(self, text: str) -> str:\n"
        "        return text\n"
    )
    loaded = loaded_by(
        "px = sys.modules['_px'] = type(sys)('_px'); "
        "px.__getattr__ = lambda name: lambda *given: False; "
        "from cog._worker import main; main.preload(False); "
        f"config = {{'root': {str(tmp_path)!r}, 'ref': 'run.py:Runner'}}; "
        "main._prepare_process(config); main._server_of(main._load(config), config).setup(config)"
    )
    assert "cog._worker.serve.sync" in loaded
    # An interpreter of Python 3.14 starts without io, which every model that opens a file loads.
    few = {"__future__", "_contextvars", "_px", "faulthandler", "io", "run"}
    assert {name for name in loaded if not name.startswith("cog")} <= few


def test_every_public_name_is_there():
    code = "import cog; [getattr(cog, name) for name in cog.__all__]; dir(cog)"
    assert "cog.model" in loaded_by(code)


def test_star_import():
    loaded_by("exec('from cog import *'); assert BaseModel and Path and current_scope")
    loaded_by("exec('from cog import *'); import builtins; assert input is builtins.input")


def runtime_imports(node: ast.AST) -> Iterator[ast.ImportFrom]:
    """Yield the imports of a module and of its functions, but those for type checkers alone."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.If) and ast.unparse(child.test) == "TYPE_CHECKING":
            for other in child.orelse:
                yield from runtime_imports(other)
        elif isinstance(child, ast.ImportFrom):
            yield child
        else:
            yield from runtime_imports(child)


def test_modules_import_one_another_without_cycles():
    files = {".".join(file.relative_to(PACKAGE.parent).with_suffix("").parts): file for file in PACKAGE.rglob("*.py")}
    graph = {}
    for module, file in files.items():
        needs = graph.setdefault(module, set())
        for found in runtime_imports(ast.parse(file.read_text())):
            above = module.split(".")[: -found.level] if found.level else []
            base = ".".join([*above, *filter(None, [found.module])])
            needs.update(f"{base}.{name.name}" for name in found.names)
            needs.add(base)
        needs &= files.keys() - {module}
    assert len(graph["cog._worker.serve.sync"]) > 5  # it has found them
    TopologicalSorter(graph).prepare()  # raises CycleError, which names the modules of a cycle
