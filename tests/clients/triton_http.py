"""Asks a server by Triton's HTTP client: triton_http.py ADDRESS Scaler|Writer."""

import sys

import numpy as np
import tritonclient.http as triton
from tritonclient.utils import InferenceServerException


def refusal(client, name, tensor):
    try:
        client.infer(name, [tensor])
    except InferenceServerException as error:
        return error.message()
    raise AssertionError("it was not refused")


def scaler(client):
    assert client.is_server_live() and client.is_server_ready() and client.is_model_ready("scaler")
    assert client.get_server_metadata()["name"] == "pinion"
    metadata = client.get_model_metadata("scaler")
    assert metadata["inputs"][0] == {"name": "x", "datatype": "FP32", "shape": [-1]}, metadata
    assert client.get_model_repository_index()[0]["state"] == "READY"
    x = np.arange(6, dtype=np.float32).reshape(2, 3)
    for binary in (True, False):
        tensor = triton.InferInput("x", x.shape, "FP32")
        tensor.set_data_from_numpy(x, binary_data=binary)
        wanted = triton.InferRequestedOutput("output", binary_data=binary)
        for coding in (None, "gzip"):
            answer = client.infer("scaler", [tensor], outputs=[wanted], request_id="7", request_compression_algorithm=coding)
            assert np.array_equal(answer.as_numpy("output"), x * 2), answer.get_response()
            assert answer.get_response()["id"] == "7"
    tensor = triton.InferInput("y", [2], "FP32")
    tensor.set_data_from_numpy(np.zeros(2, np.float32))
    assert 'unknown input "y": the model has x, k' in refusal(client, "scaler", tensor)
    assert 'unknown model "none": this server has "scaler"' in refusal(client, "none", tensor)
    tensor = triton.InferInput("x", [2], "FP64")
    tensor.set_data_from_numpy(np.zeros(2))
    assert 'input "x" is FP64, and takes FP32' in refusal(client, "scaler", tensor)


def writer(client):
    def texts(*values):
        tensor = triton.InferInput("text", [len(values)], "BYTES")
        tensor.set_data_from_numpy(np.array(values, dtype=object))
        return tensor

    answer = client.infer("writer", [texts(b"a", "é".encode(), b"c")])
    assert answer.as_numpy("output").tolist() == [b"a0a1", "é0é1".encode(), b"c0c1"], answer.get_response()
    assert refusal(client, "writer", texts(b"a", b"bad")) == "row 1: ValueError: no such text"


{"Scaler": scaler, "Writer": writer}[sys.argv[2]](triton.InferenceServerClient(sys.argv[1].removeprefix("http://")))
