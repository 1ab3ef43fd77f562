"""Sends sequences by Triton's gRPC client: triton_sequences.py ADDRESS MODEL."""

import os
import queue
import sys
import traceback
from functools import partial

import numpy as np
import triton_cases as cases
import tritonclient.grpc as triton

WAIT = 60  # seconds
tensor = partial(cases.tensor, triton)
client, model = triton.InferenceServerClient(sys.argv[1]), sys.argv[2]
arrived = queue.Queue()


def start():
    client.start_stream(lambda result, error: arrived.put((result, error)))


def send(id, inputs, sequence=7, start=False, end=False, **more):
    client.async_stream_infer(
        model, inputs, request_id=id, sequence_id=sequence, sequence_start=start, sequence_end=end, **more
    )


def got():
    """The next response: its request's id, and the value of its output, None without one, or an error's text."""
    result, error = arrived.get(timeout=WAIT)
    if error is not None:
        return error.message()
    response = result.get_response()
    output = result.as_numpy("output")
    final = response.parameters["triton_final_response"].bool_param
    assert final == (output is None), response
    return response.id, None if output is None else output.tolist()


def want(*responses):
    have = [got() for _ in responses]
    assert have == list(responses), have


def text(*values, name="words"):
    return tensor(name, np.array(values, dtype=object))


def words():
    """Each output comes before the next request, and several sequences share a stream."""
    start()
    send("a", [text(b"a"), tensor("loud", np.array([True]))], start=True)
    want(("a", [b"A"]))
    send("b", [text("é".encode())])
    want(("b", ["É".encode()]))
    send("x", [text(b"x")], sequence="other", start=True)
    want(("x", [b"x"]))
    send("c", [text(b"c", b"d")])  # two outputs
    want(("c", [b"C"]), ("c", [b"D"]))
    send("y", [text(b"y")], sequence="other", end=True, enable_empty_final_response=True)
    want(("y", [b"y"]), ("y", None))
    send("d", [text(b"none")])
    send("e", [text(b"none")], end=True)
    want(("d", None), ("e", None))
    send("f", [text(b"f")])
    assert "has not begun in this stream" in got()
    send("g", [text(b"g")], start=True)
    want(("g", [b"g"]))
    send("h", [text(b"h")], start=True)
    assert "has begun already" in got()
    send("i", [text(b"i"), tensor("loud", np.array([True]))])
    assert 'input "loud" comes with sequence_start alone' in got()
    send("j", [text(b"j")], end=True)
    assert 'item 1: input "loud"' in got()
    send("k", [text(b"k", b"0123456789")], start=True)
    want(("k", [b"k"]))
    assert "words/1: " in got() and arrived.empty()
    client.stop_stream()
    start()
    send("l", [text(b"l")], start=True)
    want(("l", [b"l"]))
    client.stop_stream()  # the end of the stream is that of its sequences
    start()
    send("m", [text(b"wait")], start=True)
    client.stop_stream(cancel_requests=True)


def numbers():
    """Triton's own example: a sum of INT32 with a dimension of batches."""
    start()
    for value in range(3):
        one = triton.InferInput("numbers", [1, 1], "INT32")
        one.set_data_from_numpy(np.full([1, 1], value + 1, np.int32))
        send(str(value), [one], start=value == 0, end=value == 2)
    want(("0", [1]), ("1", [3]), ("2", [6]))


def arrays():
    start()
    send("a", [tensor("arrays", np.array([[1, np.nan], [3, 4]], np.float32))], start=True)
    want(("a", [b"float32(2,) nan"]), ("a", [b"float32(2,) 7.0"]))
    send("b", [tensor("arrays", np.zeros((1, 2, 3), np.float32))], end=True)
    want(("b", [b"float32(2, 3) 0.0"]))


def chunks():
    """Bytes are the elements themselves, and one output comes at the end."""
    start()
    send("a", [text(b"\xff\x00", b"", name="audio")], start=True)
    send("b", [text(b"abc", name="audio")], end=True)
    want(("a", [b"ff00,,616263"]), ("b", None))
    whole = client.infer(model, [text(b"\xff\x00", b"abc", name="audio")])
    assert whole.as_numpy("output").tolist() == [b"ff00,616263"], whole.get_response()


def files():
    start()
    send("a", [text(b"one", b"three", name="files")], start=True)
    want(("a", [3]), ("a", [5]))
    send("b", [text(b"seven77", name="files")], end=True)
    want(("b", [7]))


def records():
    start()
    send("a", [text(b'{"x": 1, "name": "n"}', name="records")], start=True)
    send("b", [text(b'{"x": "?", "name": "n"}', name="records")], end=True)
    want(("a", [b"1 n"]))
    assert "records/1/x: " in got()


try:
    globals()[model]()
except BaseException:  # Triton's client waits for its stream at the end of the program
    traceback.print_exc()
    sys.stderr.flush()
    os._exit(1)
client.stop_stream()
