"""What Triton's HTTP and gRPC clients are asked to do alike. `triton` is the module of one of them."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np

DATATYPES = {"float64": "FP64", "float32": "FP32", "float16": "FP16", "int64": "INT64", "int16": "INT16", "bool": "BOOL", "object": "BYTES"}


def tensor(triton, name, values, **options):
    made = triton.InferInput(name, list(values.shape), DATATYPES[str(values.dtype)])
    made.set_data_from_numpy(values, **options)
    return made


def texts(triton, *values):
    return tensor(triton, "text", np.array(values, dtype=object))


def describer(triton, client):
    def says(**values):
        inputs = [tensor(triton, name, value) for name, value in values.items()]
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


def echo(triton, client):
    x = np.array([1, 2], np.float32)
    answer = client.infer("echo", [tensor(triton, "x", x)])
    assert answer.as_numpy("x").dtype == np.float32 and np.array_equal(answer.as_numpy("x"), x)
    assert answer.as_numpy("parts").tolist() == [[1, 2], [1, 2]], answer.get_response()
    assert answer.as_numpy("name").tolist() == [b"echo"]
    times = tensor(triton, "times", np.array([3_000_000]))
    answer = client.infer("echo", [tensor(triton, "x", x), times])  # by a memory file
    assert np.array_equal(answer.as_numpy("x"), [np.repeat(x, 3_000_000)])


def lister(triton, client):
    x = np.arange(6, dtype=np.float32).reshape(2, 3)
    assert client.infer("lister", [tensor(triton, "x", x)]).as_numpy("output").tolist() == x.tolist()


def batched(triton, connect):
    """64 requests at once, by a client for each: `connect` may return the same one, where it is made for that."""
    x = np.array([[np.nan, 1]], np.float32)
    with ThreadPoolExecutor(8) as pool:
        ask = lambda i: connect().infer("batched", [tensor(triton, "x", x + i)]).as_numpy("output")  # noqa: E731
        answers = list(pool.map(ask, range(64)))
    for i, got in enumerate(answers):
        assert got.dtype == np.float32 and np.array_equal(got, x + i + 1, equal_nan=True), got


def raw(triton, client):
    def transposed(x):
        return client.infer("raw", [tensor(triton, "x", x)]).as_numpy("output")

    for x in (np.array([[1, np.nan], [-np.inf, 4]], np.float32), np.arange(6).reshape(2, 3), np.zeros((0, 2), np.float16)):
        got = transposed(x)
        assert got.dtype == x.dtype and np.array_equal(got, x.T, equal_nan=True), got
    x = np.random.default_rng(1).random((300, 700), np.float32)
    for _ in range(20):
        assert np.array_equal(transposed(x), x.T)


def steps(triton, client, name):
    """NaN and infinities that a model yields reach the client."""
    odd = np.array([1.5, np.nan, np.inf, -np.inf])
    for values in (odd, odd[1:2], odd[:1], odd[:0]):
        got = client.infer(name, [tensor(triton, "floats", values)]).as_numpy("output")
        want = values if name == "steps" else np.array([[v, 1] for v in values], np.float32).reshape((-1, 2) if len(values) else (0,))
        assert got.dtype == want.dtype or not len(values), got.dtype
        assert np.array_equal(got, want, equal_nan=True), (got, want)


def same(triton, client, name):
    """NaN and infinities of a model reach the client."""
    odd = np.array([1.5, np.nan, np.inf, -np.inf])
    for values in (odd, odd[1:2], odd[:1]):
        got = client.infer(name, [tensor(triton, "f", values)]).as_numpy("output")
        assert got.dtype == float and np.array_equal(got, values, equal_nan=True), got
