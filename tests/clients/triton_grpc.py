"""Asks a server by Triton's gRPC client: triton_grpc.py ADDRESS Scaler|Writer|Describer|Echo|Raw|Lister|Batched."""

import queue
import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import tritonclient.grpc as triton
from tritonclient.grpc import service_pb2 as pb
from tritonclient.utils import InferenceServerException

WAIT = 60  # seconds


def refusal(call):
    try:
        call()
    except InferenceServerException as error:
        return error.status(), error.message()
    raise AssertionError("it was not refused")


def tensor(name, values, datatype):
    made = triton.InferInput(name, list(values.shape), datatype)
    made.set_data_from_numpy(values)
    return made


def texts(*values):
    return tensor("text", np.array(values, dtype=object), "BYTES")


def scaler(client):
    assert client.is_server_live() and client.is_server_ready() and client.is_model_ready("scaler")
    assert client.get_server_metadata().name == "pinion"
    metadata = client.get_model_metadata("scaler", "1")
    assert [(i.name, i.datatype, list(i.shape)) for i in metadata.inputs][0] == ("x", "FP32", [-1])
    index = client.get_model_repository_index()
    assert [(m.name, m.state) for m in index.models] == [("scaler", "READY")]
    client.load_model("scaler")
    x = np.arange(6, dtype=np.float32).reshape(2, 3)
    for coding in (None, "gzip"):
        answer = client.infer("scaler", [tensor("x", x, "FP32")], request_id="7", compression_algorithm=coding)
        assert np.array_equal(answer.as_numpy("output"), x * 2), answer.get_response()
        assert answer.get_response().id == "7"
    answer = client.infer("scaler", [tensor("x", x, "FP32")], parameters={"k": 3.0})
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

    fails("INVALID_ARGUMENT", 'unknown input "y": the model has x, k', lambda: client.infer("scaler", [tensor("y", x, "FP32")]))
    fails("INVALID_ARGUMENT", 'input "x" is FP64, and takes FP32', lambda: client.infer("scaler", [tensor("x", x.astype(float), "FP64")]))
    fails("NOT_FOUND", 'unknown model "none": this server has "scaler"', lambda: client.infer("none", [tensor("x", x, "FP32")]))
    fails("NOT_FOUND", 'has no version "2"', lambda: client.infer("scaler", [tensor("x", x, "FP32")], model_version="2"))
    fails("INVALID_ARGUMENT", "is the only one of this server", lambda: client.unload_model("scaler"))
    big = np.zeros(300_000, np.float32)
    fails("RESOURCE_EXHAUSTED", "are taken (--max-body)", lambda: client.infer("scaler", [tensor("x", big, "FP32")]))
    asked = [triton.InferRequestedOutput("none")]
    fails("INVALID_ARGUMENT", 'unknown output "none"', lambda: client.infer("scaler", [tensor("x", x, "FP32")], outputs=asked))


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


def describer(client):
    def says(**values):
        datatypes = {"float32": "FP32", "float64": "FP64", "int16": "INT16", "float16": "FP16", "bool": "BOOL"}
        inputs = []
        for name, value in values.items():
            made = triton.InferInput(name, list(value.shape), datatypes[str(value.dtype)])
            made.set_data_from_numpy(value)
            inputs.append(made)
        return client.infer("describer", inputs).as_numpy("output")[0].decode()

    x = np.array([[1, np.nan, np.inf]], np.float32)
    assert says(x=x) == "float32[1, 3] 2 1 nan", says(x=x)
    assert says(x=x.astype(float)) == "float64[1, 3] 2 1 nan"
    assert says(x=np.arange(24, dtype=np.int16).reshape(2, 3, 4)) == "int16[2, 3, 4] 300 0 nan"
    assert says(x=np.zeros((0, 3), np.float32)) == "float32[0, 3] 0 0 nan"
    half, flags = np.array([1.5, 65504], np.float16), np.array([[True], [False]])
    said = says(x=x, half=half, flags=flags)
    assert said.endswith("; float16[2] [1.5, 65504.0]; bool[2, 1] [[True], [False]]"), said
    big = np.ones(5_000_000, np.float32)  # by a memory file
    assert says(x=big) == "float32[5000000] 1e+07 0 nan", says(x=big)


def given(x):
    made = triton.InferInput("x", list(x.shape), {"float32": "FP32", "int64": "INT64", "float16": "FP16"}[str(x.dtype)])
    made.set_data_from_numpy(x)
    return made


def echo(client):
    x = np.array([1, 2], np.float32)
    answer = client.infer("echo", [given(x)])
    assert answer.as_numpy("x").dtype == np.float32 and np.array_equal(answer.as_numpy("x"), x)
    assert answer.as_numpy("parts").tolist() == [[1, 2], [1, 2]], answer.get_response()
    assert answer.as_numpy("name").tolist() == [b"echo"]
    times = triton.InferInput("times", [1], "INT64")
    times.set_data_from_numpy(np.array([3_000_000]))
    answer = client.infer("echo", [given(x), times])  # by a memory file
    assert np.array_equal(answer.as_numpy("x"), [np.repeat(x, 3_000_000)])


def lister(client):
    x = np.arange(6, dtype=np.float32).reshape(2, 3)
    assert client.infer("lister", [given(x)]).as_numpy("output").tolist() == x.tolist()


def batched(client):
    x = np.array([[np.nan, 1]], np.float32)
    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda i: client.infer("batched", [given(x + i)]).as_numpy("output"), range(64)))
    for i, got in enumerate(answers):
        assert got.dtype == np.float32 and np.array_equal(got, x + i + 1, equal_nan=True), got


def raw(client):
    for x in (np.array([[1, np.nan], [-np.inf, 4]], np.float32), np.arange(6).reshape(2, 3), np.zeros((0, 2), np.float16)):
        got = client.infer("raw", [given(x)]).as_numpy("output")
        assert got.dtype == x.dtype and np.array_equal(got, x.T, equal_nan=True), got
    x = np.random.default_rng(1).random((300, 700), np.float32)
    for _ in range(20):
        assert np.array_equal(client.infer("raw", [given(x)]).as_numpy("output"), x.T)


def same(client):
    """NaN and infinities of a model reach the client."""
    name = sys.argv[2].lower()
    odd = np.array([1.5, np.nan, np.inf, -np.inf])
    for values in (odd, odd[1:2], odd[:1]):
        got = client.infer(name, [tensor("f", values, "FP64")]).as_numpy("output")
        assert got.dtype == float and np.array_equal(got, values, equal_nan=True), got
    request = pb.ModelInferRequest(model_name=name)
    request.inputs.add(name="f", datatype="FP64", shape=[2]).contents.fp64_contents.extend([float("nan"), 2])
    got = client._client_stub.ModelInfer(request).outputs[0].contents.fp64_contents
    assert np.array_equal(got, [np.nan, 2], equal_nan=True), got


def members(client):
    """The same in the members of an object, but not in one that is JSON."""
    odd = np.array([np.nan])
    answer = client.infer("members", [tensor("f", odd, "FP64")])
    assert np.array_equal(answer.as_numpy("number"), odd, equal_nan=True), answer.as_numpy("number")
    assert np.array_equal(answer.as_numpy("numbers"), [[1, np.nan]], equal_nan=True), answer.as_numpy("numbers")
    status, text = refusal(lambda: client.infer("members", [tensor("f", odd, "FP64"), tensor("named", odd, "FP64")]))
    assert status == "StatusCode.INTERNAL" and 'output "named" has a NaN or infinity' in text, (status, text)


{"Same": same, "SameBatched": same, "Members": members, "Describer": describer, "Batched": batched, "Echo": echo, "Lister": lister, "Raw": raw, "Scaler": scaler, "Writer": writer}[sys.argv[2]](triton.InferenceServerClient(sys.argv[1]))
