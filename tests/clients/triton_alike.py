"""Asks Triton and this server the same by Triton's client, and compares: triton_alike.py TRITON PINION."""

import sys

import numpy as np
import tritonclient.http as triton
from tritonclient.utils import InferenceServerException

X = np.array([1.5, -2, 1024], np.float32)  # of few digits: Triton writes a float32 with those of a float64


def given(name="x", x=X, datatype="FP32", binary=True):
    made = triton.InferInput(name, list(x.shape), datatype)
    made.set_data_from_numpy(x, binary_data=binary)
    return made


def wanted(name="output", binary=True):
    return [triton.InferRequestedOutput(name, binary_data=binary)]


def metadata(client):
    found = client.get_model_metadata("bench")
    return {**found, "platform": ""}, client.get_model_metadata("bench", "1")["versions"]


def states(client):
    index = [{**model, "reason": ""} for model in client.get_model_repository_index()]
    return client.is_server_live(), client.is_server_ready(), client.is_model_ready("bench"), index


def inferences(client):
    answers = []
    for binary in (True, False):
        for binary_output in (True, False):
            for coding in (None, "gzip", "deflate"):
                answer = client.infer(
                    "bench",
                    [given(binary=binary)],
                    outputs=wanted(binary=binary_output),
                    request_id="7",
                    request_compression_algorithm=coding,
                    response_compression_algorithm=coding,
                )
                answers.append((answer.get_response(), answer.as_numpy("output").tobytes()))
    for x in (np.zeros(0, np.float32), np.array([np.nan, np.inf], np.float32), np.ones(300_000, np.float32)):
        answers.append(client.infer("bench", [given(x=x)], model_version="1").as_numpy("output").tobytes())
    return answers


def refusals(client):
    """Return the statuses of requests that are wrong."""
    statuses = []
    for name, version, inputs, outputs in (
        ("other", "", [given()], None),
        ("bench", "2", [given()], None),
        ("bench", "", [given("y")], None),
        ("bench", "", [given(x=X.astype(float), datatype="FP64")], None),
        ("bench", "", [given(x=X.reshape(3, 1))], None),
        ("bench", "", [given()], wanted("other")),
        ("bench", "", [], None),
    ):
        try:
            client.infer(name, inputs, model_version=version, outputs=outputs)
        except InferenceServerException as error:
            statuses.append(error.status())
        else:
            statuses.append("200")
    return statuses


clients = [triton.InferenceServerClient(address.removeprefix("http://")) for address in sys.argv[1:]]
for ask in (metadata, states, inferences, refusals):
    first, second = (ask(client) for client in clients)
    assert first == second, f"{ask.__name__}\nTriton: {first}\nPinion: {second}"
