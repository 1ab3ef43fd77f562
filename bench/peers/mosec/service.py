"""The benchmark's work in MOSEC. WORK says which; WORKERS and WAIT_MS are the benchmark's settings.

Requests are decoded and checked by msgspec, which MOSEC's own documentation uses where it validates.
"""

import os
import time

import msgspec
from mosec import Server, SSEWorker, Worker
from mosec.errors import ValidationError


class Text(msgspec.Struct):
    text: str


class Number(msgspec.Struct):
    x: int


class Count(msgspec.Struct):
    n: int


class TextRequest(msgspec.Struct):
    input: Text


class NumberRequest(msgspec.Struct):
    input: Number


class Vector(msgspec.Struct):
    x: list[float]


class VectorRequest(msgspec.Struct):
    input: Vector


class CountRequest(msgspec.Struct):
    input: Count


class Json:
    """Reads and writes as the other servers do, with validation."""

    decoder = msgspec.json.Decoder(TextRequest)

    def deserialize(self, data: bytes) -> object:
        try:
            return self.decoder.decode(data).input
        except msgspec.DecodeError as error:
            raise ValidationError(str(error)) from error

    def serialize(self, data: object) -> bytes:
        return msgspec.json.encode({"output": data})


class Echo(Json, Worker):
    def forward(self, data: Text) -> str:
        return data.text


class Onnx(Json, Worker):
    def __init__(self) -> None:
        super().__init__()
        from classify import Classifier

        self.classifier = Classifier()

    def forward(self, data: Text) -> str:
        return self.classifier(data.text)


class Batch(Json, Worker):
    decoder = msgspec.json.Decoder(NumberRequest)

    def forward(self, data: list[Number]) -> list[int]:
        time.sleep(0.005 + 0.0001 * len(data))
        return [2 * item.x for item in data]


class OnnxBatch(Json, Worker):
    decoder = msgspec.json.Decoder(VectorRequest)

    def __init__(self) -> None:
        super().__init__()
        from mlp import Network

        self.network = Network()

    def forward(self, data: list[Vector]) -> list[int]:
        return self.network([item.x for item in data])


class OnnxSingle(OnnxBatch):
    def forward(self, data: Vector) -> int:
        return self.network([data.x])[0]


class Stream(Json, SSEWorker):
    decoder = msgspec.json.Decoder(CountRequest)

    def forward(self, data: Count) -> str:
        for _ in range(data.n):
            self.send_stream_event("token ")
        return ""


def main() -> None:
    work = os.environ["WORK"]
    server = Server()
    workers = {
        "echo": Echo,
        "onnx": Onnx,
        "onnx-batch": OnnxBatch,
        "batch": Batch,
        "stream": Stream,
    }
    worker = workers[work]
    batching = {}
    most = {"batch": 32, "onnx-batch": int(os.environ["BATCH"])}.get(work, 1)
    if most > 1:
        # 0 leaves MOSEC's default.
        batching = {"max_batch_size": most, "max_wait_time": int(os.environ["WAIT_MS"] or 0)}
    elif work == "onnx-batch":
        worker = OnnxSingle
    server.append_worker(worker, num=int(os.environ["WORKERS"]), route="/predictions", **batching)
    server.run()


if __name__ == "__main__":
    main()
