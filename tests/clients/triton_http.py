"""Asks a server by Triton's HTTP client: triton_http.py ADDRESS CLASS, of ASKS."""

import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import tritonclient.http as triton
from tritonclient.utils import InferenceServerException


def connect():
    return triton.InferenceServerClient(sys.argv[1].removeprefix("http://"))


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
    return named("x", x)


def named(name, x, binary=True):
    datatypes = {"float32": "FP32", "float64": "FP64", "int64": "INT64", "float16": "FP16"}
    made = triton.InferInput(name, list(x.shape), datatypes[str(x.dtype)])
    made.set_data_from_numpy(x, binary_data=binary)
    return made


def echo(client):
    outputs = {o["name"]: (o["datatype"], o["shape"]) for o in client.get_model_metadata("echo")["outputs"]}
    assert outputs["x"] == ("FP32", [-1]) and outputs["name"] == ("BYTES", [-1]), outputs
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


def coded(client):
    """Asks in each coding, for each coding. geventhttpclient inflates what comes."""
    x = np.tile(np.arange(1000, dtype=np.float32), (4, 20))
    for asked in (None, "gzip", "deflate"):
        for answered in (None, "gzip", "deflate"):
            answer = client.infer("raw", [given(x)], request_compression_algorithm=asked, response_compression_algorithm=answered)
            assert np.array_equal(answer.as_numpy("output"), x.T), (asked, answered)


def batched(client):
    x = np.array([[np.nan, 1]], np.float32)
    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda i: connect().infer("batched", [given(x + i)]).as_numpy("output"), range(64)))
    for i, got in enumerate(answers):
        assert got.dtype == np.float32 and np.array_equal(got, x + i + 1, equal_nan=True), got


def raw(client):
    for x in (np.array([[1, np.nan], [-np.inf, 4]], np.float32), np.arange(6).reshape(2, 3), np.zeros((0, 2), np.float16)):
        got = client.infer("raw", [given(x)]).as_numpy("output")
        assert got.dtype == x.dtype and np.array_equal(got, x.T, equal_nan=True), got
    got = client.infer("raw", [named("x", np.zeros((0, 2), np.float32), binary=False)]).as_numpy("output")
    assert got.dtype == np.float32 and got.shape == (2, 0), got
    wanted = [triton.InferRequestedOutput("output", binary_data=False)]
    assert client.infer("raw", [given(np.arange(2))], outputs=wanted).as_numpy("output").tolist() == [0, 1]
    try:
        client.infer("raw", [given(np.array([np.nan], np.float32))], outputs=wanted)
    except InferenceServerException as error:
        assert "what JSON cannot hold" in error.message(), error
    else:
        raise AssertionError("a NaN in JSON")
    coded(client)
    x = np.random.default_rng(1).random((300, 700), np.float32)
    for _ in range(20):
        assert np.array_equal(client.infer("raw", [given(x)]).as_numpy("output"), x.T)


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
    assert says(named("arrays", x, binary=False)) == ["0.0; ndarray float32 [1.0, 2.0]; ndarray float32 [3.0, 4.0]"]
    assert 'input "arrays" has shape [2], and takes [-1,-1]' in refusal(client, "numbers", named("arrays", x[0]))


def same(client):
    """NaN and infinities of a model reach clients that ask for binary tensors; JSON cannot hold them."""
    name = sys.argv[2].lower()
    odd = np.array([1.5, np.nan, np.inf, -np.inf])
    for values in (odd, odd[1:2], odd[:1]):
        got = client.infer(name, [named("f", values)]).as_numpy("output")
        assert got.dtype == float and np.array_equal(got, values, equal_nan=True), got
    wanted = [triton.InferRequestedOutput("output", binary_data=False)]
    assert client.infer(name, [named("f", odd[:1])], outputs=wanted).as_numpy("output").tolist() == [1.5]
    try:
        client.infer(name, [named("f", odd[1:2])], outputs=wanted)
    except InferenceServerException as error:
        assert "output is nan, which JSON cannot hold" in error.message(), error
    else:
        raise AssertionError("JSON has a NaN")


def members(client):
    """The same in the members of an object."""
    odd = np.array([np.nan])
    answer = client.infer("members", [named("f", odd)])
    got = answer.as_numpy("numbers")
    assert np.array_equal(answer.as_numpy("number"), odd, equal_nan=True), answer.as_numpy("number")
    assert got.dtype == float and np.array_equal(got, [[1, np.nan]], equal_nan=True), got
    for inputs, output, text in (
        ([named("f", odd)], "numbers", 'output "numbers" has what JSON cannot hold'),
        ([named("f", np.zeros(1)), named("named", odd)], "named", 'output "named" has a NaN or infinity and is answered as JSON'),
    ):
        try:
            client.infer("members", inputs, outputs=[triton.InferRequestedOutput(output, binary_data=output == "named")])
        except InferenceServerException as error:
            assert text in error.message(), error
        else:
            raise AssertionError("JSON has a NaN")


ASKS = {
    "Batched": batched,
    "Describer": describer,
    "Echo": echo,
    "Lister": lister,
    "Members": members,
    "Numbers": numbers,
    "Raw": raw,
    "Same": same,
    "SameBatched": same,
    "Scaler": scaler,
    "Writer": writer,
}
ASKS[sys.argv[2]](connect())
