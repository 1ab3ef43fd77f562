"""The modules of `cog._worker` import each other in one direction."""

import ast
import re
from pathlib import Path

import cog._worker

ROOT = Path(cog._worker.__file__).parent
PACKAGE = cog._worker.__name__


def imported(tree, package):
    """Yield the full names that a module imports, inside of functions too; not those for type checkers."""
    nodes = [tree]
    while nodes:
        node = nodes.pop()
        if isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING":
            nodes += node.orelse
            continue
        nodes += ast.iter_child_nodes(node)
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            above = package.split(".")[: len(package.split(".")) - node.level + 1] if node.level else []
            base = ".".join([*above, *([node.module] if node.module else [])])
            yield from (f"{base}.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.Call) and ast.unparse(node.func).endswith("import_module"):
            yield from (arg.value for arg in node.args if isinstance(arg, ast.Constant))


def imports_of(sources):
    """Return the modules that each module imports. sources: the text of each module by its name."""
    found = {}
    for name, (text, is_package) in sources.items():
        package = name if is_package else name.rpartition(".")[0]
        names = set(imported(ast.parse(text), package))
        modules = {n if n in sources else n.rpartition(".")[0] for n in names}
        found[name] = {module for module in modules if module in sources and module != name}
    return found


def circle(imports):
    """Return modules that import each other in a circle, or []."""
    done, path = set(), []

    def visit(name):
        if name in path:
            return [*path[path.index(name) :], name]
        if name in done:
            return []
        path.append(name)
        found = next(filter(None, map(visit, sorted(imports[name]))), [])
        path.pop()
        done.add(name)
        return found

    return next(filter(None, map(visit, sorted(imports))), [])


def test_no_circles():
    sources = {}
    for file in ROOT.rglob("*.py"):
        parts = [PACKAGE, *file.relative_to(ROOT).with_suffix("").parts]
        is_package = parts[-1] == "__init__"
        sources[".".join(parts[:-1] if is_package else parts)] = file.read_text(), is_package
    imports = imports_of(sources)
    assert sum(map(len, imports.values())) > 100
    assert circle(imports) == []


def test_finds_circles_through_functions_and_relative_imports():
    lower = "def f():\n    from .. import high\n", False
    higher = "from .b.low import f\n", False
    package = "", True
    found = imports_of({"p": package, "p.a.high": higher, "p.a": package, "p.a.b": package, "p.a.b.low": lower})
    assert circle(found) == ["p.a.b.low", "p.a.high", "p.a.b.low"]
    checked = "if TYPE_CHECKING:\n    from .. import high\n", False
    found = imports_of({"p": package, "p.a.high": higher, "p.a": package, "p.a.b": package, "p.a.b.low": checked})
    assert circle(found) == []


def test_index_has_the_duty_of_each_module():
    index = (ROOT / "README.md").read_text()
    folders = dict(re.findall(r"^## `(\S+)`\n(.*?)(?=^## |\Z)", index, re.M | re.S))
    rows = {}
    for folder, text in folders.items():
        place = ROOT if folder == "_worker" else ROOT / folder
        rows.update({place / name: duty for name, duty in re.findall(r"^\| `(\S+)` \| (.*) \|$", text, re.M)})
    duties = {}
    for file in ROOT.rglob("*.py"):
        if file.name != "__init__.py":
            first = ast.get_docstring(ast.parse(file.read_text())).split("\n\n")[0]
            duties[file] = " ".join(first.split())
    assert rows == duties
