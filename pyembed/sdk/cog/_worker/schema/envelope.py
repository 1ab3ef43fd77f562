"""The part of the OpenAPI document that is the same for every model."""

from __future__ import annotations

from cog import __version__

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    Schema = dict[str, Any]


def document(schemas: Schema, predicts: bool, trains: bool, streaming: bool) -> Schema:
    """Return the whole document around the schemas of inputs and outputs."""
    components = dict(schemas)
    paths: Schema = {
        "/": _get("Root", "root__get", "Response Root  Get"),
        "/health-check": _get(
            "Healthcheck", "healthcheck_health_check_get", "Response Healthcheck Health Check Get"
        ),
    }
    if predicts:
        words = _Words("predict", "prediction", "")
        components.update(_components(words))
        paths.update(_paths(words, streaming))
    if trains:
        words = _Words("train", "training", "Training")
        components.update(_components(words))
        paths.update(_paths(words, False))
    components.update(_common())
    return {
        "openapi": "3.0.2",
        "info": {"title": "Cog", "version": __version__},
        "paths": paths,
        "components": {"schemas": components},
    }


class _Words:
    """The names of one interface in paths, ids, texts and components."""

    def __init__(self, verb: str, noun: str, prefix: str) -> None:
        self.verb = verb
        self.noun = noun
        self.plural = noun + "s"
        self.id = noun + "_id"
        self.title = noun.capitalize()
        self.input = prefix + "Input"
        self.output = prefix + "Output"


def _paths(words: _Words, streaming: bool) -> Schema:
    prefer = _parameter("prefer", "header", False, "Prefer")
    named = _parameter(words.id, "path", True, f"{words.title} ID")
    create: Schema = {
        "summary": words.verb.capitalize(),
        "description": f"Run a single {words.noun} on the model",
        "operationId": f"{words.verb}_{words.plural}_post",
        "parameters": [prefer],
        "requestBody": {"content": _json(_ref(words.title + "Request"))},
        "responses": _answers(_ref(words.title + "Response")),
    }
    if streaming:
        create["x-cog-streaming"] = True
    base = "/" + words.plural
    return {
        base: {"post": create},
        f"{base}/{{{words.id}}}": {
            "put": {
                "summary": f"{words.verb.capitalize()} Idempotent",
                "description": f"Run a single {words.noun} on the model (idempotent creation).",
                "operationId": f"{words.verb}_idempotent_{words.plural}__{words.id}__put",
                "parameters": [named, prefer],
                "requestBody": {
                    "required": True,
                    "content": _json(
                        {
                            "title": f"{words.title} Request",
                            "allOf": [_ref(words.title + "Request")],
                        }
                    ),
                },
                "responses": _answers(_ref(words.title + "Response")),
            }
        },
        f"{base}/{{{words.id}}}/cancel": {
            "post": {
                "summary": "Cancel",
                "description": f"Cancel a running {words.noun}",
                "operationId": f"cancel_{words.plural}__{words.id}__cancel_post",
                "parameters": [named],
                "responses": _answers(
                    {"title": f"Response Cancel {words.title}s  {words.title} Id  Cancel Post"}
                ),
            }
        },
    }


def _components(words: _Words) -> Schema:
    request, response = words.title + "Request", words.title + "Response"
    given = {"allOf": [_ref(words.input)], "nullable": True}
    events = ["start", "output", "logs", "completed"]
    return {
        request: _object(
            request,
            id=_nullable("Id"),
            input=given,
            context=_nullable("Context", "object", additionalProperties={"type": "string"}),
            created_at=_nullable("Created At", format="date-time"),
            output_file_prefix=_nullable("Output File Prefix"),
            webhook=_nullable("Webhook", format="uri", minLength=1, maxLength=65536),
            webhook_events_filter=_nullable(
                "Webhook Events Filter",
                "array",
                items={"type": "string", "enum": events},
                default=events,
            ),
        ),
        response: _object(
            response,
            id=_nullable("Id"),
            input=given,
            output=_ref(words.output),
            status=_ref("Status"),
            error=_nullable("Error"),
            logs={"title": "Logs", "type": "string", "default": ""},
            metrics=_nullable("Metrics", "object", additionalProperties=True),
            created_at=_nullable("Created At", format="date-time"),
            started_at=_nullable("Started At", format="date-time"),
            completed_at=_nullable("Completed At", format="date-time"),
            version=_nullable("Version"),
        ),
    }


def _common() -> Schema:
    locations = {"anyOf": [{"type": "string"}, {"type": "integer"}]}
    return {
        "Status": {
            "title": "Status",
            "description": "An enumeration.",
            "type": "string",
            "enum": ["starting", "processing", "succeeded", "canceled", "failed"],
        },
        "HTTPValidationError": _object(
            "HTTPValidationError",
            detail={"title": "Detail", "type": "array", "items": _ref("ValidationError")},
        ),
        "ValidationError": {
            **_object(
                "ValidationError",
                loc={"title": "Location", "type": "array", "items": locations},
                msg={"title": "Message", "type": "string"},
                type={"title": "Error Type", "type": "string"},
            ),
            "required": ["loc", "msg", "type"],
        },
    }


def _object(title: str, **properties: Schema) -> Schema:
    return {"title": title, "type": "object", "properties": properties}


def _nullable(title: str, type: str = "string", **more: Any) -> Schema:
    return {"title": title, "type": type, **more, "nullable": True}


def _get(summary: str, operation: str, title: str) -> Schema:
    return {
        "get": {
            "summary": summary,
            "operationId": operation,
            "responses": {"200": _answer({"title": title})},
        }
    }


def _answers(schema: Schema) -> Schema:
    return {
        "200": _answer(schema),
        "422": {
            "description": "Validation Error",
            "content": _json(_ref("HTTPValidationError")),
        },
    }


def _answer(schema: Schema) -> Schema:
    return {"description": "Successful Response", "content": _json(schema)}


def _json(schema: Schema) -> Schema:
    return {"application/json": {"schema": schema}}


def _ref(name: str) -> Schema:
    return {"$ref": f"#/components/schemas/{name}"}


def _parameter(name: str, place: str, required: bool, title: str) -> Schema:
    schema = {"title": title, "type": "string"}
    return {"name": name, "in": place, "required": required, "schema": schema}
