"""Print the Open Inference Protocol's OpenAPI document for a model, as schemathesis can read it: oip.py FILE MODEL INPUT...

The document says "bytes" for a type, which JSON Schema does not have, and keeps its datatypes where references to schemas do
not reach. It lacks the answer for an unknown model in places. What MLServer adds to the protocol is left out.
"""

from __future__ import annotations

import json
import sys
from typing import Any


def read(file: str, model: str, inputs: list[str]) -> dict[str, Any]:
    """Return the document, in which requests name the model and its inputs, or unknown ones."""
    with open(file, encoding="utf-8") as opened:
        text = opened.read()
    document: dict[str, Any] = json.loads(text.replace("#/components/enums/", "#/components/schemas/"))
    schemas = document["components"]["schemas"]
    schemas.update(document["components"].pop("enums"))
    schemas["TensorData"] = {"type": "array"}
    schemas["RequestInput"]["properties"]["name"]["enum"] = [*inputs, "unknown"]
    own = ("/infer_stream", "/generate", "/generate_stream")
    document["paths"] = {path: item for path, item in document["paths"].items() if not path.endswith(own)}
    names = {"model_name": [model, "unknown"], "model_version": ["1", "2"]}
    unknown = document["paths"]["/v2/models/{model_name}/infer"]["post"]["responses"]["404"]
    for item in document["paths"].values():
        operations = [operation for operation in item.values() if isinstance(operation, dict) and "responses" in operation]
        for parameters in [item.get("parameters", []), *(o.get("parameters", []) for o in operations)]:
            for parameter in parameters:
                parameter["schema"] = {"type": "string", "enum": names[parameter["name"]]}
                for operation in operations:
                    operation["responses"].setdefault("404", unknown)
    return document


if __name__ == "__main__":
    print(json.dumps(read(sys.argv[1], sys.argv[2], sys.argv[3:])))
