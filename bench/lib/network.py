"""The network of the row onnx-batch, 784-256-10 with random weights that are always the same: as a file, and in numpy."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import numpy
import onnx
from onnx import TensorProto, helper, numpy_helper

from lib.options import CACHE

PATH = CACHE / "mlp.onnx"
PIXELS, HIDDEN, CLASSES = 784, 256, 10


@cache
def weights() -> dict[str, numpy.ndarray]:
    """Return the weights; RandomState draws the same in all versions of numpy."""
    random = numpy.random.RandomState(784)
    shapes = {"w1": (PIXELS, HIDDEN), "b1": (HIDDEN,), "w2": (HIDDEN, CLASSES), "b2": (CLASSES,)}
    found = {
        name: random.standard_normal(shape) / shape[0] ** 0.5 for name, shape in shapes.items()
    }
    for name in ("w1", "w2"):
        found[name] -= found[name].mean(axis=0)
    found["b2"] /= 10  # else most pictures were of one class
    return {name: array.astype(numpy.float32) for name, array in found.items()}


@cache
def path() -> Path:
    """Write the network; return where it is."""
    nodes = [
        helper.make_node("Gemm", ["x", "w1", "b1"], ["h"]),
        helper.make_node("Relu", ["h"], ["r"]),
        helper.make_node("Gemm", ["r", "w2", "b2"], ["y"]),
    ]
    graph = helper.make_graph(
        nodes,
        "mlp",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["n", PIXELS])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["n", CLASSES])],
        [numpy_helper.from_array(array, name) for name, array in weights().items()],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    onnx.checker.check_model(model, full_check=True)
    PATH.parent.mkdir(parents=True, exist_ok=True)
    onnx.save(model, PATH)
    return PATH


@cache
def example(n: int) -> tuple[list[float], int]:
    """Return the n-th picture, grey values by 255 as clients send them, and its class, which no other is near."""
    w = weights()
    random = numpy.random.RandomState(n)
    while True:
        picture = random.randint(0, 256, PIXELS) / 255
        scores = numpy.maximum(picture @ w["w1"] + w["b1"], 0) @ w["w2"] + w["b2"]
        second, first = numpy.sort(scores)[-2:]
        if first - second > 0.01:  # sums differ in the last digits with a batch's size
            return picture.tolist(), int(scores.argmax())
