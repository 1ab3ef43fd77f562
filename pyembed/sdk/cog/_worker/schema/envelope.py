"""The part of the OpenAPI document that is the same for every model."""

from __future__ import annotations

from cog import __version__

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    Schema = dict[str, Any]

_EVENTS = ["start", "output", "logs", "completed"]


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
        components["PredictionRequest"] = _request("PredictionRequest", "Input")
        components["PredictionResponse"] = _response("PredictionResponse", "Input", "Output")
        paths.update(_paths(_PREDICTION, streaming))
    if trains:
        components["TrainingRequest"] = _request("TrainingRequest", "TrainingInput")
        components["TrainingResponse"] = _response(
            "TrainingResponse", "TrainingInput", "TrainingOutput"
        )
        paths.update(_paths(_TRAINING, False))
    components.update(_common())
    return {
        "openapi": "3.0.2",
        "info": {"title": "Cog", "version": __version__},
        "paths": paths,
        "components": {"schemas": components},
    }


class _Words:
    """How one of the two interfaces is called in paths, ids and texts."""

    def __init__(self, verb: str, noun: str) -> None:
        self.verb = verb
        self.noun = noun
        self.plural = noun + "s"
        self.id = noun + "_id"
        self.title = noun.capitalize()


_PREDICTION = _Words("predict", "prediction")
_TRAINING = _Words("train", "training")


def _paths(words: _Words, streaming: bool) -> Schema:
    create: Schema = {
        "summary": words.verb.capitalize(),
        "description": f"Run a single {words.noun} on the model",
        "operationId": f"{words.verb}_{words.plural}_post",
        "parameters": [_prefer()],
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
                "parameters": [_id_parameter(words), _prefer()],
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
                "parameters": [_id_parameter(words)],
                "responses": _answers(
                    {"title": f"Response Cancel {words.title}s  {words.title} Id  Cancel Post"}
                ),
            }
        },
    }


def _request(name: str, input_name: str) -> Schema:
    return {
        "title": name,
        "type": "object",
        "properties": {
            "id": _text("Id"),
            "input": {"allOf": [_ref(input_name)], "nullable": True},
            "context": {
                "title": "Context",
                "type": "object",
                "additionalProperties": {"type": "string"},
                "nullable": True,
            },
            "created_at": _time("Created At"),
            "output_file_prefix": _text("Output File Prefix"),
            "webhook": {
                "title": "Webhook",
                "type": "string",
                "format": "uri",
                "minLength": 1,
                "maxLength": 65536,
                "nullable": True,
            },
            "webhook_events_filter": {
                "title": "Webhook Events Filter",
                "type": "array",
                "items": {"type": "string", "enum": list(_EVENTS)},
                "default": list(_EVENTS),
                "nullable": True,
            },
        },
    }


def _response(name: str, input_name: str, output_name: str) -> Schema:
    return {
        "title": name,
        "type": "object",
        "properties": {
            "id": _text("Id"),
            "input": {"allOf": [_ref(input_name)], "nullable": True},
            "output": _ref(output_name),
            "status": _ref("Status"),
            "error": _text("Error"),
            "logs": {"title": "Logs", "type": "string", "default": ""},
            "metrics": {
                "title": "Metrics",
                "type": "object",
                "additionalProperties": True,
                "nullable": True,
            },
            "created_at": _time("Created At"),
            "started_at": _time("Started At"),
            "completed_at": _time("Completed At"),
            "version": _text("Version"),
        },
    }


def _common() -> Schema:
    return {
        "Status": {
            "title": "Status",
            "description": "An enumeration.",
            "type": "string",
            "enum": ["starting", "processing", "succeeded", "canceled", "failed"],
        },
        "HTTPValidationError": {
            "title": "HTTPValidationError",
            "type": "object",
            "properties": {
                "detail": {"title": "Detail", "type": "array", "items": _ref("ValidationError")}
            },
        },
        "ValidationError": {
            "title": "ValidationError",
            "type": "object",
            "properties": {
                "loc": {
                    "title": "Location",
                    "type": "array",
                    "items": {"anyOf": [{"type": "string"}, {"type": "integer"}]},
                },
                "msg": {"title": "Message", "type": "string"},
                "type": {"title": "Error Type", "type": "string"},
            },
            "required": ["loc", "msg", "type"],
        },
    }


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


def _prefer() -> Schema:
    return {
        "name": "prefer",
        "in": "header",
        "required": False,
        "schema": {"title": "Prefer", "type": "string"},
    }


def _id_parameter(words: _Words) -> Schema:
    return {
        "name": words.id,
        "in": "path",
        "required": True,
        "schema": {"title": f"{words.title} ID", "type": "string"},
    }


def _text(title: str) -> Schema:
    return {"title": title, "type": "string", "nullable": True}


def _time(title: str) -> Schema:
    return {"title": title, "type": "string", "format": "date-time", "nullable": True}
