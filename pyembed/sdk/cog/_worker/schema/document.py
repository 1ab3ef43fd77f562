"""The model's part of the OpenAPI document: its inputs and its output."""

from __future__ import annotations

from .signature import unwrap
from .typeforms import DICTS, plain
from .types import (
    Anything,
    Array,
    ArrayOutput,
    Bytes,
    Choice,
    Coded,
    FileKind,
    Kind,
    Listing,
    Mapping,
    Nullable,
    OneOf,
    PathKind,
    Record,
    Scalar,
    SecretKind,
    Stream,
    Streamed,
    Text,
    strip,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ..model.load import Predictor
    from .signature import Field, Signature

    Schema = dict[str, Any]

_TYPES = {"str": "string", "int": "integer", "float": "number", "bool": "boolean"}


def openapi(
    predictor: Predictor | None, trainer: Predictor | None = None, *named: Predictor | None
) -> Schema:
    """Return the OpenAPI 3.0.2 document of a model, a training function, or both.

    That of each named function stands in it.
    """
    from . import envelope

    schemas: Schema = {}
    if predictor is not None:
        _add(schemas, predictor.signature, "Input", "Output")
        if predictor.example is not None:
            schemas["Input"]["example"] = predictor.example.document
    if trainer is not None:
        _add(schemas, trainer.signature, "TrainingInput", "TrainingOutput")
    streaming = predictor is not None and predictor.streaming
    document = envelope.document(schemas, predictor is not None, trainer is not None, streaming)
    if predictor is not None and predictor.openai:
        document["paths"]["/predictions"]["post"]["x-cog-openai"] = predictor.openai
        if predictor.counts:
            document["paths"]["/predictions"]["post"]["x-cog-counts"] = True
    if predictor is not None and predictor.tool:
        document["paths"]["/predictions"]["post"]["x-cog-tool"] = predictor.tool
    main = predictor or (named[0] if named else trainer)
    text = _description(main) if main is not None else ""
    if text:
        document["info"]["description"] = text
    functions = {each.name: openapi(each) for each in named if each is not None}
    if functions:
        document["x-cog-functions"] = functions
    return document


def _add(schemas: Schema, signature: Signature, input_name: str, output_name: str) -> None:
    properties: Schema = {}
    required = []
    enums: Schema = {}
    for field in signature.inputs:
        properties[field.name] = _property(field, input_name, schemas, enums)
        if field.required:
            required.append(field.name)
    component: Schema = {"title": input_name, "type": "object", "properties": properties}
    if required:
        component["required"] = required
    if signature.open:
        component["additionalProperties"] = True
    schemas[input_name] = component
    schemas[output_name] = {"title": output_name, **fragment(signature.output)}
    schemas.update(enums)


def _property(field: Field, input_name: str, schemas: Schema, enums: Schema) -> Schema:
    kind = strip(field.kind)
    if field.choices is None:
        result: Schema = {"title": _title(field.name), **fragment(kind)}
    else:
        name = _enum_name(field.name, field.choices, input_name, schemas, enums)
        reference = {"$ref": f"#/components/schemas/{name}"}
        if isinstance(kind, Listing):
            result = {"title": _title(field.name), "type": "array", "items": reference}
        else:
            result = {"allOf": [reference]}
    if isinstance(field.kind, Nullable):
        result["nullable"] = True
    _annotate(result, field)
    result["x-order"] = field.order
    return result


def _annotate(result: Schema, field: Field) -> None:
    """Add the declarations of Input() to a property."""
    info = field.info
    if info.description is not None:
        result["description"] = str(info.description)
    if field.has_default and info.default is None:
        result["default"] = None
    elif info.default is not None and not field.kind.contains(SecretKind):
        default = _json_default(info.default)
        if isinstance(default, float) and strip(field.kind).name == "int" and default.is_integer():
            default = int(default)
        if default is not None:
            result["default"] = default
    if info.max_items is not None:
        result["maxItems"] = info.max_items
    bounded = result
    if isinstance(strip(field.kind), Streamed):
        result["x-cog-stream"] = True
        bounded = result["items"]
    for key, value in (
        ("minimum", info.ge),
        ("maximum", info.le),
        ("minLength", info.min_length),
        ("maxLength", info.max_length),
        ("pattern", info.regex),
    ):
        if value is not None:
            bounded[key] = value
    if info.deprecated:
        result["deprecated"] = True
    if info.accept is not None:
        result["x-cog-accept"] = info.accept


def _enum_name(name: str, choice: Choice, input_name: str, schemas: Schema, enums: Schema) -> str:
    """Add the enum schema of a field and return its name: the field's, if that is free."""
    component: Schema = {"title": name, "description": "An enumeration."}
    if choice.base is not None:
        component["type"] = _TYPES[choice.base]
    component["enum"] = list(choice.values)
    taken = schemas.get(name) or enums.get(name)
    if name in RESERVED or (taken is not None and taken != component):
        name = f"{input_name}_{name}"
    enums[name] = component
    return name


# Names of the document's own components; a field of that name gets another.
RESERVED = frozenset(
    {
        "Input",
        "Output",
        "PredictionRequest",
        "PredictionResponse",
        "TrainingInput",
        "TrainingOutput",
        "TrainingRequest",
        "TrainingResponse",
        "Status",
        "HTTPValidationError",
        "ValidationError",
        # The server adds these (httpd/openapi).
        "PredictionForm",
        "PredictionState",
        "ServerDetail",
        "ServerDiscovery",
        "ServerError",
        "ServerHealth",
        "ServerRefusal",
        "TrainingForm",
        "TrainingState",
    }
)


def fragment(kind: Kind) -> Schema:
    """Return the schema of a kind.

    >>> from .types import Listing, Scalar
    >>> fragment(Listing("list[int]", Scalar("int")))
    {'type': 'array', 'items': {'type': 'integer'}}
    """
    if isinstance(kind, Scalar):
        return {"type": _TYPES[kind.name]}
    if isinstance(kind, (PathKind, FileKind)):
        return {"type": "string", "format": "uri"}
    if isinstance(kind, SecretKind):
        return {"type": "string", "format": "password", "writeOnly": True, "x-cog-secret": True}
    if isinstance(kind, Text):
        return {"type": "string", "format": kind.format}
    if isinstance(kind, Bytes):
        return {"type": "string", "format": "byte"}
    if isinstance(kind, (Anything, Coded)):
        return {"type": "object"}
    if isinstance(kind, Choice):
        enum: Schema = {"enum": list(kind.values)}
        return {"type": _TYPES[kind.base], **enum} if kind.base is not None else enum
    if isinstance(kind, Nullable):
        return {**fragment(kind.inner), "nullable": True}
    return _compound(kind)


def _compound(kind: Kind) -> Schema:
    if isinstance(kind, Array):
        return _array(kind)
    if isinstance(kind, ArrayOutput):
        return {"type": "array", "items": {}, "x-pinion-dtype": kind.dtype}
    if isinstance(kind, Listing):
        return {"type": "array", "items": fragment(kind.inner)}
    if isinstance(kind, Mapping):
        if isinstance(kind.inner, Anything):
            return {"type": "object"}  # values of any type, not objects only
        return {"type": "object", "additionalProperties": fragment(kind.inner)}
    if isinstance(kind, OneOf):
        return {"anyOf": [fragment(option) for option in kind.options]}
    if isinstance(kind, Stream):
        result = {
            "type": "array",
            "items": fragment(kind.inner),
            "x-cog-array-type": "iterator",
        }
        if kind.concatenate:
            result["x-cog-array-display"] = "concatenate"
        return result
    if isinstance(kind, Record):
        return _record(kind)
    return {"nullable": True} if kind.name == "None" else {}


def _array(kind: Array) -> Schema:
    """Return nested lists of numbers; with any items if the depth is not declared.

    >>> _array(Array("", "uint8", 1))
    {'type': 'array', 'items': {'type': 'integer'}, 'x-pinion-dtype': 'uint8'}
    >>> _array(Array("", "float32", 0))
    {'type': 'array', 'items': {}, 'x-pinion-dtype': 'float32'}
    """
    if not kind.dimensions:
        return {"type": "array", "items": {}, "x-pinion-dtype": kind.dtype}
    types = {"b": "boolean", "i": "integer", "u": "integer"}
    result: Schema = {"type": types.get(kind.dtype[:1], "number")}
    for _ in range(kind.dimensions):
        result = {"type": "array", "items": result}
    result["x-pinion-dtype"] = kind.dtype
    return result


def _record(kind: Record) -> Schema:
    result: Schema = {
        "type": "object",
        "properties": {
            member.name: {"title": _title(member.name), **fragment(member.kind)}
            for member in kind.members
        },
    }
    required = [member.name for member in kind.members if member.required]
    if required:
        result["required"] = required
    return result


def _json_default(value: Any) -> Any:
    """Return a default as JSON data, None if JSON cannot hold it."""
    value = plain(value)
    if isinstance(value, bool) or value is None:
        return value
    if isinstance(value, str):
        return str.__str__(value)
    if isinstance(value, int):
        return int(value)
    if isinstance(value, float):
        # JSON has no infinity: the default applies, but the document omits it.
        return float(value) if abs(value) < float("inf") else None
    if isinstance(value, (list, tuple)):
        return [_json_default(item) for item in value]
    if isinstance(value, DICTS):
        return {str(key): _json_default(item) for key, item in value.items()}
    if hasattr(value, "get_secret_value"):
        return None
    if hasattr(value, "__fspath__"):
        return str(value)
    return None


def _title(name: str) -> str:
    """Return a name in title case.

    >>> _title("num_inference_steps")
    'Num Inference Steps'
    """
    return " ".join(word[:1].upper() + word[1:] for word in name.split("_") if word)


def _description(predictor: Predictor) -> str:
    """Return the model's description, "" if it has none."""
    cls = type(predictor.instance)
    text = None
    is_function = predictor.instance is None or predictor.instance is predictor.function
    if predictor.name:
        is_function = True  # the class's docstring is that of all
    if not is_function and not _made_by_dataclass(cls):
        text = cls.__doc__  # not inherited
    return _clean(text or getattr(unwrap(predictor.function)[0], "__doc__", None))


def _made_by_dataclass(cls: type) -> bool:
    return hasattr(cls, "__dataclass_fields__") and (cls.__doc__ or "").startswith(
        cls.__name__ + "("
    )


def _clean(docstring: object) -> str:
    r"""Return a docstring without the indentation of the source.

    It does what inspect.cleandoc does, without the slow import of inspect.

    >>> _clean("Paints.\n\n    With oil,\n      thickly.\n    ")
    'Paints.\n\nWith oil,\n  thickly.'
    """
    if not isinstance(docstring, str):
        return ""
    first, *rest = docstring.expandtabs().split("\n")
    margin = min((len(line) - len(line.lstrip()) for line in rest if line.strip()), default=0)
    return "\n".join([first.strip(), *(line[margin:].rstrip() for line in rest)]).strip("\n")
