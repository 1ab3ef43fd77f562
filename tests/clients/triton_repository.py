"""Triton's clients list, unload and load the models a and b, over HTTP and gRPC.

usage: triton_repository.py HTTP_ADDRESS GRPC_ADDRESS
"""

import sys

import tritonclient.grpc as triton_grpc
import tritonclient.http as triton_http
from tritonclient.utils import InferenceServerException


def equal(what: str, got: object, want: object) -> None:
    """Fails unless the two are equal."""
    if got != want:
        sys.exit(f"{what}: got {got!r}, want {want!r}")


def refused(what: str, status: str, call, *arguments, **options) -> None:
    """Fails unless the call is refused with that status."""
    try:
        call(*arguments, **options)
    except InferenceServerException as error:
        if status not in (error.status() or "") and status not in str(error):
            sys.exit(f"{what}: got {error.status()} {error}, want {status}")
        return
    sys.exit(f"{what}: got no error, want {status}")


def states(client) -> dict[str, str]:
    """Returns the state of each model in the index."""
    index = client.get_model_repository_index()
    if isinstance(index, list):
        return {entry["name"]: entry["state"] for entry in index}
    return {entry.name: entry.state for entry in index.models}


def main(http: str, grpc: str) -> None:
    """Runs all checks by each client."""
    for client, unknown, bad in (
        (triton_http.InferenceServerClient(http.removeprefix("http://")), "404", "400"),
        (triton_grpc.InferenceServerClient(grpc), "NOT_FOUND", "INVALID_ARGUMENT"),
    ):
        equal("index", states(client), {"a": "READY", "b": "READY"})
        client.unload_model("b", unload_dependents=True)
        equal("index after unload", states(client), {"a": "READY", "b": "UNAVAILABLE"})
        equal("readiness of b", client.is_model_ready("b"), False)
        client.unload_model("b")  # it is so already
        client.load_model("b")
        equal("index after load", states(client), {"a": "READY", "b": "READY"})
        client.load_model("b")
        refused("unknown model", unknown, client.load_model, "c")
        refused("unknown model", unknown, client.unload_model, "c")
        refused("config", bad, client.load_model, "b", config='{"backend": "python"}')
        refused("files", bad, client.load_model, "b", config="{}", files={"file:1/model.py": b"x"})


main(*sys.argv[1:])
