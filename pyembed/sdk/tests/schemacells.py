"""Schemas as the tables of the reference show them."""

from __future__ import annotations

import json


def resolved(schema: dict, schemas: dict) -> dict:
    """Return a schema with what it refers to in place, and without what is not about the type."""
    schema = {key: value for key, value in schema.items() if key not in ("title", "x-order", "x-cog-schema-from")}
    for reference in [schema.pop("$ref", None), *(part.get("$ref") for part in schema.pop("allOf", []))]:
        if reference:
            schema.update(resolved(schemas[reference.rpartition("/")[2]], schemas))
    for key in ("items", "additionalProperties"):
        if isinstance(schema.get(key), dict):
            schema[key] = resolved(schema[key], schemas)
    if "anyOf" in schema:
        schema["anyOf"] = [resolved(part, schemas) for part in schema["anyOf"]]
    if "properties" in schema:
        schema["properties"] = {name: resolved(part, schemas) for name, part in schema["properties"].items()}
    schema.pop("description", None) if schema.get("description") == "An enumeration." else None
    return schema


def shown(schema: dict) -> str:
    """Return a schema as a cell of a table."""
    return f"`{json.dumps(schema)}`" if schema else "any"
