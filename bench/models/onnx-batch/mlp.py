"""The work of the row onnx-batch, the same for every server: a perceptron 784-256-10 that lib/network.py wrote."""

from __future__ import annotations

import os

import numpy
import onnxruntime


class Network:
    """Lists of 784 numbers in, the class of each out."""

    def __init__(self) -> None:
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        self.session = onnxruntime.InferenceSession(
            os.environ["NETWORK"], options, providers=["CPUExecutionProvider"]
        )

    def __call__(self, batch: list[list[float]]) -> list[int]:
        """Classify a batch."""
        scores = self.session.run(None, {"x": numpy.array(batch, numpy.float32)})[0]
        return scores.argmax(axis=1).tolist()
