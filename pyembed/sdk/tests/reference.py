"""The reference of the interface, docs/reference/python.md, made from docstrings and types.

`test_reference.py` compares the page with what `page` returns.
"""
# ruff: noqa: E501, for the text has the width of the page

from __future__ import annotations

import doctest
import importlib
import inspect
import textwrap
from collections.abc import Callable, Iterator

from schemacells import resolved, shown
from sources import function_source

from cog._worker.model.load import Predictor
from cog._worker.schema.document import openapi

Load = Callable[[str], Predictor]

INTRODUCTION = """\
# The Python interface

What a model imports from `cog`. The server brings the package: a model needs no `cog` in its requirements, and one that is
installed is not used. It is compatible with Cog's; what only Pinion has says so.

    from cog import BaseRunner, Input, Path

[`pinion python`](cli.md#python) runs tests and notebooks with the same package. The wheel of Pinion brings its types for
editors and type checkers. [Inputs](inputs.md) has the rules of defaults and schemas, [files](files.md) those of downloads
and uploads.

This page is made from the package's own documentation.
"""

# Headings, with what is said below them, and the names that follow.
SECTIONS: list[tuple[str, str, list[str]]] = [
    (
        "Models",
        """\
        `cog.yaml` names a class or a function: `run: run.py:Runner`. A class has `setup`, which runs once, and `run`.
        A plain function is a model too.
        """,
        ["cog.BaseRunner", "cog.BasePredictor"],
    ),
    (
        "Train",
        """\
        `train: train.py:train` in `cog.yaml` names a function whose inputs are declared as those of `run`. Clients
        reach it at `/trainings`, and `pinion train` runs it once.

            from cog import BaseModel, Input, Path

            class Trained(BaseModel):
                weights: Path

            def train(data: Path, epochs: int = Input(default=3, ge=1)) -> Trained:
                out = Path("/tmp/weights.txt")
                out.write_text(f"{epochs} epochs of {data.stat().st_size} bytes")
                return Trained(weights=out)
        """,
        [],
    ),
    (
        "Functions",
        """\
        Further methods of the class that clients can ask, over the same weights: [functions](../how-to/functions.md).
        """,
        ["cog.function"],
    ),
    (
        "Health check",
        """\
        A method `healthcheck` of the model, sync or async, is called when a client asks for `/health-check`. False, an
        exception, or no answer in 5 seconds makes the status `UNHEALTHY`.

            from cog import BaseRunner

            class Runner(BaseRunner):
                def setup(self) -> None:
                    self.loaded = True

                def healthcheck(self) -> bool:
                    return self.loaded

                def run(self, text: str) -> str:
                    return text
        """,
        [],
    ),
    ("Inputs", "{inputs}", ["cog.Input", "cog.FieldInfo", "cog.Opaque", "cog.coder.Coder"]),
    ("Outputs", "{outputs}", ["cog.BaseModel"]),
    (
        "Iterators",
        """\
        A function that yields declares `Iterator[T]`, or `AsyncIterator[T]` if it is async. Its output is a list;
        clients that ask for events get each item when it is yielded.
        """,
        ["cog.ConcatenateIterator", "cog.AsyncConcatenateIterator", "cog.streaming"],
    ),
    ("Files and secrets", "", ["cog.Path", "cog.URLPath", "cog.File", "cog.URLFile", "cog.Secret"]),
    (
        "Concurrency",
        """\
        `async def run` serves several predictions at once on one event loop. `setup` and `healthcheck` may be async
        too.
        """,
        ["cog.concurrent"],
    ),
    (
        "Ranks",
        "Only Pinion has them. [Several GPUs](../how-to/several-gpus.md) says when to use them.",
        ["cog.ranks", "cog.checkpoint"],
    ),
    ("Batches", "Only Pinion has them. [Batching](../how-to/batching.md) explains when a batch leaves.", ["cog.batch"]),
    ("Clients", "Only Pinion has these decorators.", ["cog.example", "cog.openai", "cog.tool"]),
    (
        "Calls of other models",
        "Only Pinion has them. [Several models](../how-to/several-models.md) shows a server with some.",
        ["cog.call", "cog.call_async"],
    ),
    (
        "Weights",
        "Only Pinion has it. [Weights](../how-to/weights.md#fetched-by-the-server) shows how the server fetches\nthem.",
        ["cog.weights"],
    ),
    (
        "Metrics and context",
        """\
        A metric becomes part of the prediction's `metrics`. Names have letters, digits and underscores, with up to 3 dots;
        `predict_time` and names that begin with `cog.` are the server's.
        """,
        [
            "cog.current_scope",
            "cog._worker.scope.Scope.record_metric",
            "cog._worker.scope.Scope.delete_metric",
            "cog._worker.scope.Scope.context",
            "cog._worker.scope.Scope.metrics",
            "cog.emit_metric",
        ],
    ),
    (
        "Errors",
        """\
        An exception of `run` fails its prediction: `error` is its text, the traceback is in the logs. One that is
        [the client's fault](http.md#what-the-client-sent-is-at-fault) has a status. A synchronous
        function is stopped by `CancelationException`.
        """,
        [
            "cog.CancelationException",
            "cog.CallError",
            "cog.InputError",
            "cog.errors.CogError",
            "cog.errors.OutputError",
            "cog.errors.LoadError",
            "cog.ExperimentalFeatureWarning",
        ],
    ),
]

_CLASSES = """
class Color(enum.Enum):
    RED = "red"
    BLUE = "blue"

class Size(TypedDict):
    width: int

class Box(BaseModel):
    label: str
    score: float
"""

# The annotation of an input, and what the function gets.
INPUTS = [
    ("str", "a string"),
    ("int", "an int; 3.0 is one, 3.5 and true are not"),
    ("float", "a float; whole numbers too"),
    ("bool", "a bool"),
    ("Literal['small', 'large']", "one of the values"),
    ("Color", "a member of the `Enum`"),
    ("Optional[int]", "None or an int; absent is None"),
    ("Union[int, str]", "either, as it came"),
    ("list[str]", "a list; `Optional[list[str]]` may be null"),
    ("dict", "a dict, unchecked"),
    ("dict[str, float]", "a dict, with its values checked"),
    ("Size", "a `TypedDict` as a dict; a dataclass or pydantic model as its object"),
    ("Any", "any JSON object"),
    ("Path", "a local file; clients send a URL"),
    ("list[Path]", "local files"),
    ("File", "an open file. Deprecated: use `Path`"),
    ("Secret", "a string that hides itself"),
]

# The annotation of an output, and what may be returned for it.
OUTPUTS = [
    ("str", "a string"),
    ("int", "an int"),
    ("float", "a float; NaN and infinities become null"),
    ("bool", "a bool"),
    ("list[int]", "a list, tuple, set or array"),
    ("dict[str, float]", "a dict"),
    ("Box", "a `BaseModel`; dataclasses, TypedDicts and pydantic models alike"),
    ("datetime.date", "a date or time, as ISO 8601"),
    ("Path", "a file that exists"),
    ("list[Path]", "files"),
    ("Iterator[str]", "yields items"),
    ("Iterator[bytes]", "yields bytes, which are base64 in JSON"),
    ("ConcatenateIterator[str]", "yields parts of one text"),
    ("Any", "what JSON can hold, None too"),
]


def page(load: Load) -> str:
    """Return the page. load makes a model of a source."""
    parts = [INTRODUCTION]
    tables = {"inputs": input_table(load), "outputs": output_table(load)}
    for title, text, names in SECTIONS:
        parts.append(f"## {title}\n")
        text = textwrap.dedent(text).format(**tables) if text in ("{inputs}", "{outputs}") else textwrap.dedent(text)
        if text:
            parts.append(text.rstrip() + "\n")
        parts += [entry(name) for name in names]
    return "\n".join(parts)


def entry(name: str) -> str:
    """Return the part of the page about a name."""
    value, text = found(name)
    prose, example = divide(text)
    lines = [f"### `{short(name)}`\n"]
    if callable(value) and not inspect.isclass(value):
        lines.append(wrapped(f"`{short(name)}{parameters(value)}`") + "\n")
    lines.append(markdown(prose) + "\n")
    if inspect.isclass(value):
        lines += [method(value, item) for item in documented(value)]
    if example:
        if lines[-1].startswith("* "):
            lines.append("An example:\n")  # which ends the list
        lines.append(textwrap.indent(example, "    "))
    return "\n".join(lines)


def found(name: str) -> tuple[object, str]:
    """Return what a dotted name stands for, and its documentation."""
    parts = name.split(".")
    for size in range(len(parts) - 1, 0, -1):
        try:
            value: object = importlib.import_module(".".join(parts[:size]))
        except ModuleNotFoundError:
            continue
        for part in parts[size:]:
            value = inspect.getattr_static(value, part) if inspect.isclass(value) else getattr(value, part)
        break
    if name == "cog.Opaque":
        import ast
        import pathlib

        import cog._opaque

        body = ast.parse(pathlib.Path(cog._opaque.__file__).read_text()).body
        return value, inspect.cleandoc(body[-1].value.value)  # type: ignore[attr-defined]
    return value, inspect.getdoc(value) or ""


def short(name: str) -> str:
    """Return a name without the private modules."""
    return ".".join(part for part in name.split(".") if part[0] != "_" and part not in ("cog", "scope"))


def parameters(function: Callable[..., object]) -> str:
    """Return the parameters of a function as the signature has them."""
    shown, starred = [], False
    signature = inspect.signature(function)
    for name, parameter in signature.parameters.items():
        if name == "self":
            continue
        if parameter.kind is parameter.KEYWORD_ONLY and not starred:
            shown.append("*")
            starred = True
        text = {parameter.VAR_POSITIONAL: "*", parameter.VAR_KEYWORD: "**"}.get(parameter.kind, "") + name
        starred = starred or parameter.kind is parameter.VAR_POSITIONAL
        if isinstance(parameter.annotation, str) and "_F" not in parameter.annotation:
            text += f": {parameter.annotation}"
        if parameter.default is not parameter.empty:
            text += f" = {parameter.default!r}" if ":" in text else f"={parameter.default!r}"
        shown.append(text)
    returns = signature.return_annotation
    arrow = f" -> {returns}" if isinstance(returns, str) and "_F" not in returns else ""
    return f"({', '.join(shown)}){arrow}"


def documented(value: type) -> list[str]:
    """Return the public methods of a class that say what they do."""
    return [
        name
        for name, member in vars(value).items()
        if not name.startswith("_")
        and (callable(member) or isinstance(member, (staticmethod, classmethod, property)))
        and inspect.getdoc(member)
    ]


def method(value: type, name: str) -> str:
    """Return the line about a method."""
    member = inspect.getattr_static(value, name)
    shown = name if isinstance(member, property) else name + parameters(getattr(value, name))
    prose, _ = divide(inspect.getdoc(member) or "")
    return markdown(f"* `{shown}`: {prose}", indent="  ") + "\n"


def divide(text: str) -> tuple[str, str]:
    """Return a docstring's prose, and its example as a program."""
    prose: list[str] = []
    code: list[str] = []
    for part in doctest.DocTestParser().parse(text):
        if isinstance(part, str):
            if not code:
                prose.append(part)
            continue
        code += part.source.rstrip().replace("  # doctest: +SKIP", "").splitlines()
        code += [f"# {line}" for line in part.want.splitlines()]
    for at, line in enumerate(code):
        if not line.startswith(("import ", "from ")):
            code.insert(at, "")
            break
    return "".join(prose).strip(), "\n".join(code) + "\n" if code else ""


def markdown(prose: str, indent: str = "") -> str:
    """Return a docstring's prose as Markdown."""
    paragraphs = []
    for paragraph in prose.replace("``", "`").split("\n\n"):
        paragraphs.append(wrapped(paragraph, indent))
    return f"\n\n{indent}".join(paragraphs)


def wrapped(text: str, indent: str = "") -> str:
    """Return a paragraph in lines of 118 columns."""
    text = " ".join(text.split())
    return textwrap.fill(text, 118, subsequent_indent=indent, break_on_hyphens=False, break_long_words=False)


def input_table(load: Load) -> str:
    """Return the table of input types, with the schema that each really makes."""
    rows = ["| annotation | schema | the function gets |", "|---|---|---|"]
    for annotation, gets in INPUTS:
        document = openapi(load(function_source(f"x: {annotation}", "str", _CLASSES)))
        schemas = document["components"]["schemas"]
        schema = resolved(schemas["Input"]["properties"]["x"], schemas)
        rows.append(f"| `{annotation}` | {shown(schema)} | {gets} |")
    return "\n".join(rows)


def output_table(load: Load) -> str:
    """Return the table of output types, with the schema that each really makes."""
    rows = ["| annotation | schema | the function returns |", "|---|---|---|"]
    for annotation, returns in OUTPUTS:
        source = function_source("x: str", annotation, _CLASSES)
        if "Iterator" in annotation:
            source = source.replace(": ...\n", ":\n    yield x\n")
        schemas = openapi(load(source))["components"]["schemas"]
        rows.append(f"| `{annotation}` | {shown(resolved(schemas['Output'], schemas))} | {returns} |")
    return "\n".join(rows)


def examples(text: str) -> Iterator[str]:
    """Yield the programs of the page."""
    block: list[str] = []
    for line in [*text.splitlines(), "end"]:
        if line.startswith("    ") or (block and not line.strip()):
            block.append(line)
        elif block:
            yield textwrap.dedent("\n".join(block)).strip() + "\n"
            block = []
