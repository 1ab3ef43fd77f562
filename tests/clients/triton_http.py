"""Asks a server by Triton's HTTP client: triton_http.py ADDRESS CLASS, of ASKS."""

import sys
from functools import partial

import numpy as np
import triton_cases as cases
import tritonclient.http as triton
from tritonclient.utils import InferenceServerException

named, texts = partial(cases.tensor, triton), partial(cases.texts, triton)


def connect():
    return triton.InferenceServerClient(sys.argv[1].removeprefix("http://"))


def refusal(client, name, tensor):
    try:
        client.infer(name, [tensor])
    except InferenceServerException as error:
        return error.message()
    raise AssertionError("got an answer, want a refusal")


def scaler(client):
    assert client.is_server_live() and client.is_server_ready() and client.is_model_ready("scaler")
    assert client.get_server_metadata()["name"] == "pinion"
    metadata = client.get_model_metadata("scaler")
    assert metadata["inputs"][0] == {"name": "x", "datatype": "FP32", "shape": [-1]}, metadata
    assert client.get_model_repository_index()[0]["state"] == "READY"
    x = np.arange(6, dtype=np.float32).reshape(2, 3)
    for binary in (True, False):
        tensor = named("x", x, binary_data=binary)
        wanted = triton.InferRequestedOutput("output", binary_data=binary)
        for coding in (None, "gzip"):
            answer = client.infer("scaler", [tensor], outputs=[wanted], request_id="7", request_compression_algorithm=coding)
            assert np.array_equal(answer.as_numpy("output"), x * 2), answer.get_response()
            assert answer.get_response()["id"] == "7"
    tensor = named("y", np.zeros(2, np.float32))
    assert 'unknown input "y": the model has x, k' in refusal(client, "scaler", tensor)
    assert 'unknown model "none": this server has "scaler"' in refusal(client, "none", tensor)
    tensor = named("x", np.zeros(2))
    assert 'input "x" is FP64: must be FP32' in refusal(client, "scaler", tensor)


def writer(client):
    answer = client.infer("writer", [texts(b"a", "é".encode(), b"c")])
    assert answer.as_numpy("output").tolist() == [b"a0a1", "é0é1".encode(), b"c0c1"], answer.get_response()
    assert refusal(client, "writer", texts(b"a", b"bad")) == "row 1: ValueError: no such text"


def echo(client):
    outputs = {o["name"]: (o["datatype"], o["shape"]) for o in client.get_model_metadata("echo")["outputs"]}
    assert outputs["x"] == ("FP32", [-1]) and outputs["name"] == ("BYTES", [-1]), outputs
    cases.echo(triton, client)


def coded(client):
    """Asks in each coding, for each coding. geventhttpclient inflates what comes."""
    x = np.tile(np.arange(1000, dtype=np.float32), (4, 20))
    for asked in (None, "gzip", "deflate"):
        for answered in (None, "gzip", "deflate"):
            answer = client.infer("raw", [named("x", x)], request_compression_algorithm=asked, response_compression_algorithm=answered)
            assert np.array_equal(answer.as_numpy("output"), x.T), (asked, answered)


def raw(client):
    cases.raw(triton, client)
    got = client.infer("raw", [named("x", np.zeros((0, 2), np.float32), binary_data=False)]).as_numpy("output")
    assert got.dtype == np.float32 and got.shape == (2, 0), got
    wanted = [triton.InferRequestedOutput("output", binary_data=False)]
    assert client.infer("raw", [named("x", np.arange(2))], outputs=wanted).as_numpy("output").tolist() == [0, 1]
    try:
        client.infer("raw", [named("x", np.array([np.nan], np.float32))], outputs=wanted)
    except InferenceServerException as error:
        assert "that JSON cannot hold" in error.message(), error
    else:
        raise AssertionError("got a NaN in JSON, want an error")
    coded(client)


def numbers(client):
    """NaN and infinities reach numbers and lists of them, and a list of arrays is one tensor."""

    def says(*inputs):
        return [text.decode() for text in client.infer("numbers", list(inputs)).as_numpy("output")]

    odd = np.array([np.nan, 1.5, np.inf, -np.inf, np.nan], np.float32)
    assert says(named("f", odd)) == ["nan", "1.5", "inf", "-inf", "nan"], says(named("f", odd))
    assert says(named("f", odd.astype(np.float16)[:1])) == ["nan"]
    assert says(named("floats", odd.astype(float))) == ["0.0; [nan, 1.5, inf, -inf, nan]"], says(named("floats", odd.astype(float)))
    assert says(named("above", np.array([np.inf]))) == ["0.0; inf"]
    for value in (-np.inf, np.nan):
        said = refusal(client, "numbers", named("above", np.array([1, value])))
        assert said == "row 1: input above: NaN or infinity is not within its limits or choices", said
    inputs = {tensor["name"]: tensor for tensor in client.get_model_metadata("numbers")["inputs"]}
    assert inputs["arrays"] == {"name": "arrays", "datatype": "FP32", "shape": [-1]}, inputs
    x = np.array([[1, np.nan], [3, 4]], np.float32)
    assert says(named("arrays", x)) == ["0.0; ndarray float32 [1.0, nan]; ndarray float32 [3.0, 4.0]"], says(named("arrays", x))
    x[0, 1] = 2
    assert says(named("arrays", x, binary_data=False)) == ["0.0; ndarray float32 [1.0, 2.0]; ndarray float32 [3.0, 4.0]"]
    assert 'input "arrays" has shape [2]: must be [-1,-1]' in refusal(client, "numbers", named("arrays", x[0]))


def same(client):
    """NaN and infinities of a model reach clients that ask for binary tensors; JSON cannot hold them."""
    name = sys.argv[2].lower()
    cases.same(triton, client, name)
    odd = np.array([1.5, np.nan])
    wanted = [triton.InferRequestedOutput("output", binary_data=False)]
    assert client.infer(name, [named("f", odd[:1])], outputs=wanted).as_numpy("output").tolist() == [1.5]
    try:
        client.infer(name, [named("f", odd[1:2])], outputs=wanted)
    except InferenceServerException as error:
        assert "output is nan, which JSON cannot hold" in error.message(), error
    else:
        raise AssertionError("got a NaN in JSON, want an error")


def steps(client):
    """The same in what a model yields."""
    name = sys.argv[2].lower()
    cases.steps(triton, client, name)
    wanted = [triton.InferRequestedOutput("output", binary_data=False)]
    answer = client.infer(name, [named("floats", np.array([1.0, 2.0]))], outputs=wanted).as_numpy("output")
    assert answer.tolist() == ([1, 2] if name == "steps" else [[1, 1], [2, 1]]), answer
    try:
        client.infer(name, [named("floats", np.array([1, np.nan]))], outputs=wanted)
    except InferenceServerException as error:
        assert "JSON cannot hold" in error.message(), error
    else:
        raise AssertionError("got a NaN in JSON, want an error")


def members(client):
    """The same in the members of an object."""
    odd = np.array([np.nan])
    answer = client.infer("members", [named("f", odd)])
    got = answer.as_numpy("numbers")
    assert np.array_equal(answer.as_numpy("number"), odd, equal_nan=True), answer.as_numpy("number")
    assert got.dtype == float and np.array_equal(got, [[1, np.nan]], equal_nan=True), got
    for inputs, output, text in (
        ([named("f", odd)], "numbers", 'output "numbers" has values that JSON cannot hold'),
        ([named("f", np.zeros(1)), named("named", odd)], "named", 'output "named" has a NaN or infinity and is answered as JSON'),
    ):
        try:
            client.infer("members", inputs, outputs=[triton.InferRequestedOutput(output, binary_data=output == "named")])
        except InferenceServerException as error:
            assert text in error.message(), error
        else:
            raise AssertionError("got a NaN in JSON, want an error")


ASKS = {
    "Batched": lambda _: cases.batched(triton, connect),
    "Describer": partial(cases.describer, triton),
    "Echo": echo,
    "Lister": partial(cases.lister, triton),
    "Members": members,
    "Numbers": numbers,
    "Raw": raw,
    "Same": same,
    "SameBatched": same,
    "Scaler": scaler,
    "Steps": steps,
    "AsyncSteps": steps,
    "Writer": writer,
}
ASKS[sys.argv[2]](connect())
