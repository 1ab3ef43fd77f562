"""Asks a server by Triton's gRPC client: triton_grpc.py ADDRESS Scaler|Writer|Describer|Echo|Raw|Lister|Batched."""

import queue
import sys
from functools import partial

import numpy as np
import triton_cases as cases
import tritonclient.grpc as triton
from tritonclient.grpc import service_pb2 as pb
from tritonclient.utils import InferenceServerException

WAIT = 60  # seconds
tensor, texts = partial(cases.tensor, triton), partial(cases.texts, triton)


def refusal(call):
    try:
        call()
    except InferenceServerException as error:
        return error.status(), error.message()
    raise AssertionError("got an answer, want a refusal")


def scaler(client):
    assert client.is_server_live() and client.is_server_ready() and client.is_model_ready("scaler")
    assert client.get_server_metadata().name == "pinion"
    metadata = client.get_model_metadata("scaler", "1")
    assert [(i.name, i.datatype, list(i.shape)) for i in metadata.inputs][0] == ("x", "FP32", [-1])
    index = client.get_model_repository_index()
    assert [(m.name, m.state) for m in index.models] == [("scaler", "READY")]
    x = np.arange(6, dtype=np.float32).reshape(2, 3)
    for coding in (None, "gzip", "deflate"):
        answer = client.infer("scaler", [tensor("x", x)], request_id="7", compression_algorithm=coding)
        assert np.array_equal(answer.as_numpy("output"), x * 2), answer.get_response()
        assert answer.get_response().id == "7"
    answer = client.infer("scaler", [tensor("x", x)], parameters={"k": 3.0})
    assert np.array_equal(answer.as_numpy("output"), x * 3)

    def typed(**fields):
        request = pb.ModelInferRequest(model_name="scaler")
        request.inputs.add(name="x", datatype="FP32", shape=[2]).contents.fp32_contents.extend([1, 2])
        for name, value in fields.items():
            getattr(request, name).append(value)
        return request

    answer = client._client_stub.ModelInfer(typed())
    assert list(answer.outputs[0].contents.fp64_contents) == [2, 4] and not answer.raw_output_contents, answer

    def fails(status, text, call):
        got = refusal(call)
        assert got[0] == "StatusCode." + status and text in got[1], got

    fails("INVALID_ARGUMENT", 'unknown input "y": the model has x, k', lambda: client.infer("scaler", [tensor("y", x)]))
    fails("INVALID_ARGUMENT", 'input "x" is FP64: must be FP32', lambda: client.infer("scaler", [tensor("x", x.astype(float))]))
    fails("NOT_FOUND", 'unknown model "none": this server has "scaler"', lambda: client.infer("none", [tensor("x", x)]))
    fails("NOT_FOUND", 'has no version "2"', lambda: client.infer("scaler", [tensor("x", x)], model_version="2"))
    fails("PERMISSION_DENIED", "--allow-model-control", lambda: client.load_model("scaler"))
    fails("PERMISSION_DENIED", "--allow-model-control", lambda: client.unload_model("scaler"))
    big = np.zeros(300_000, np.float32)
    fails("RESOURCE_EXHAUSTED", "are taken (--max-body)", lambda: client.infer("scaler", [tensor("x", big)]))
    asked = [triton.InferRequestedOutput("none")]
    fails("INVALID_ARGUMENT", 'unknown output "none"', lambda: client.infer("scaler", [tensor("x", x)], outputs=asked))


def writer(client):
    answer = client.infer("writer", [texts(b"a", "é".encode(), b"c")])
    assert answer.as_numpy("output").tolist() == [b"a0a1", "é0é1".encode(), b"c0c1"], answer.get_response()
    status, message = refusal(lambda: client.infer("writer", [texts(b"a", b"bad")]))
    assert (status, message) == ("StatusCode.INTERNAL", "row 1: ValueError: no such text"), (status, message)

    arrived = queue.Queue()
    client.start_stream(lambda result, error: arrived.put((result, error)))
    for number, text in enumerate([b"a", b"bad", b"c"]):
        client.async_stream_infer("writer", [texts(text)], request_id=str(number), enable_empty_final_response=True, parameters={"n": 3})
    items, final, errors = {}, set(), []
    while len(final) + len(errors) < 3:
        result, error = arrived.get(timeout=WAIT)
        if error is not None:
            errors.append(error.message())
            continue
        response = result.get_response()
        if response.parameters["triton_final_response"].bool_param:
            assert not response.outputs
            final.add(response.id)
        else:
            items.setdefault(response.id, []).append(result.as_numpy("output")[0])
    assert items == {"0": [b"a0", b"a1", b"a2"], "2": [b"c0", b"c1", b"c2"]}, items
    assert final == {"0", "2"} and errors == ["ValueError: no such text"], (final, errors)
    client.stop_stream()


def same(client):
    """NaN and infinities of a model reach the client."""
    name = sys.argv[2].lower()
    cases.same(triton, client, name)
    request = pb.ModelInferRequest(model_name=name)
    request.inputs.add(name="f", datatype="FP64", shape=[2]).contents.fp64_contents.extend([float("nan"), 2])
    got = client._client_stub.ModelInfer(request).outputs[0].contents.fp64_contents
    assert np.array_equal(got, [np.nan, 2], equal_nan=True), got


def steps(client):
    """The same in what a model yields; a stream's items are JSON before they are tensors."""
    name = sys.argv[2].lower()
    cases.steps(triton, client, name)
    answers = queue.Queue()
    client.start_stream(lambda result, error: answers.put((result, error)))
    client.async_stream_infer(name, [tensor("floats", np.array([1.0, np.nan]))])
    result, error = answers.get(timeout=30)
    assert error is None and result.as_numpy("output").ravel()[0] == 1, (result, error)
    result, error = answers.get(timeout=30)
    assert error is not None and "JSON cannot hold" in error.message(), (result, error)
    client.stop_stream()


def members(client):
    """The same in the members of an object, but not in one that is JSON."""
    odd = np.array([np.nan])
    answer = client.infer("members", [tensor("f", odd)])
    assert np.array_equal(answer.as_numpy("number"), odd, equal_nan=True), answer.as_numpy("number")
    assert np.array_equal(answer.as_numpy("numbers"), [[1, np.nan]], equal_nan=True), answer.as_numpy("numbers")
    status, text = refusal(lambda: client.infer("members", [tensor("f", odd), tensor("named", odd)]))
    assert status == "StatusCode.INTERNAL" and 'output "named" has a NaN or infinity' in text, (status, text)


ASKS = {
    "Batched": lambda client: cases.batched(triton, lambda: client),
    "Describer": partial(cases.describer, triton),
    "Echo": partial(cases.echo, triton),
    "Lister": partial(cases.lister, triton),
    "Members": members,
    "Raw": partial(cases.raw, triton),
    "Same": same,
    "SameBatched": same,
    "Scaler": scaler,
    "Steps": steps,
    "AsyncSteps": steps,
    "Writer": writer,
}
ASKS[sys.argv[2]](triton.InferenceServerClient(sys.argv[1]))
