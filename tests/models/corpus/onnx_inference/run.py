"""A classifier on onnxruntime."""

import numpy as np
import onnxruntime
from cog import BaseModel, BaseRunner

LABELS = ["cat", "dog", "fox"]


class Output(BaseModel):
    label: str
    scores: dict[str, float]


class Runner(BaseRunner):
    def setup(self) -> None:
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 1
        self.session = onnxruntime.InferenceSession("weights.onnx", options, providers=["CPUExecutionProvider"])

    def run(self, features: list[float]) -> Output:
        x = np.asarray([features], dtype=np.float32)
        (scores,) = self.session.run(None, {"x": x})
        return Output(
            label=LABELS[int(scores[0].argmax())],
            scores={name: round(float(score), 4) for name, score in zip(LABELS, scores[0])},
        )
