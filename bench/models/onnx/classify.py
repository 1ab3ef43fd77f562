"""The work of the ONNX rows, the same for every server: RapidOCR's classifier of text directions.

Its weights (0.6 MB) are in the wheel of rapidocr; nothing else of that package is used.
"""

from __future__ import annotations

import base64
import importlib.util
from pathlib import Path

import numpy
import onnxruntime

HEIGHT, WIDTH = 48, 192


def weights() -> Path:
    """Find the weights in the installed wheel, without importing the package."""
    spec = importlib.util.find_spec("rapidocr")
    if spec is None or spec.origin is None:
        raise FileNotFoundError("rapidocr is not installed")
    return next(Path(spec.origin).parent.glob("models/ch_ppocr_mobile_v2.0_cls*.onnx"))


class Classifier:
    """Base64 of a grey picture of 48 × 192 in, the label and its score out."""

    def __init__(self) -> None:
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        self.session = onnxruntime.InferenceSession(
            str(weights()), options, providers=["CPUExecutionProvider"]
        )
        self.name = self.session.get_inputs()[0].name

    def __call__(self, text: str) -> str:
        """Classify one picture."""
        grey = numpy.frombuffer(base64.b64decode(text), numpy.uint8).reshape(HEIGHT, WIDTH)
        plane = grey.astype(numpy.float32) / 127.5 - 1
        picture = numpy.broadcast_to(plane, (1, 3, HEIGHT, WIDTH))
        scores = self.session.run(None, {self.name: numpy.ascontiguousarray(picture)})[0][0]
        best = int(scores.argmax())
        return f"{(0, 180)[best]} {scores[best]:.3f}"
