"""The benchmark's work in LitServe. WORK says which; WORKERS and WAIT_MS are the benchmark's settings."""

import asyncio
import os
import sys
import time
from collections.abc import Iterator

import litserve
from pydantic import BaseModel, StrictInt, StrictStr


class Text(BaseModel):
    text: StrictStr


class TextRequest(BaseModel):
    input: Text


class Number(BaseModel):
    x: StrictInt


class NumberRequest(BaseModel):
    input: Number


class Vector(BaseModel):
    x: list[float]


class VectorRequest(BaseModel):
    input: Vector


class Count(BaseModel):
    n: StrictInt


class CountRequest(BaseModel):
    input: Count


class Echo(litserve.LitAPI):
    def setup(self, device: str) -> None:
        pass

    def decode_request(self, request: TextRequest) -> str:
        return request.input.text

    def predict(self, x: str) -> str:
        return x

    def encode_response(self, output: str) -> dict[str, str]:
        return {"output": output}


class Wait(litserve.LitAPI):
    def setup(self, device: str) -> None:
        pass

    async def decode_request(self, request: TextRequest) -> str:
        return request.input.text

    async def predict(self, x: str) -> str:
        await asyncio.sleep(0.001)
        return x

    async def encode_response(self, output: str) -> dict[str, str]:
        return {"output": output}


class Onnx(Echo):
    def setup(self, device: str) -> None:
        from classify import Classifier

        self.classifier = Classifier()

    def predict(self, x: str) -> str:
        return self.classifier(x)


class Batch(litserve.LitAPI):
    def setup(self, device: str) -> None:
        pass

    def decode_request(self, request: NumberRequest) -> int:
        return request.input.x

    def batch(self, inputs: list[int]) -> list[int]:
        return inputs

    def predict(self, x: list[int]) -> list[int]:
        time.sleep(0.005 + 0.0001 * len(x))
        return [2 * item for item in x]

    def unbatch(self, output: list[int]) -> list[int]:
        return output

    def encode_response(self, output: int) -> dict[str, int]:
        return {"output": output}


class OnnxBatch(Batch):
    def setup(self, device: str) -> None:
        from mlp import Network

        self.network = Network()

    def decode_request(self, request: VectorRequest) -> list[float]:
        return request.input.x

    def predict(self, x: list[list[float]]) -> list[int]:
        return self.network(x)


class Stream(litserve.LitAPI):
    def setup(self, device: str) -> None:
        pass

    def decode_request(self, request: CountRequest) -> int:
        return request.input.n

    def predict(self, x: int) -> Iterator[str]:
        for _ in range(x):
            yield "token "

    def encode_response(self, output):  # LitServe takes an annotation for a response model
        yield from output


def main() -> None:
    work = os.environ["WORK"]
    settings: dict[str, object] = {"api_path": "/predictions"}
    if work in ("batch", "onnx-batch"):
        settings["max_batch_size"] = 32 if work == "batch" else 16
        if os.environ.get("WAIT_MS"):
            settings["batch_timeout"] = int(os.environ["WAIT_MS"]) / 1000
    if work == "stream":
        settings["stream"] = True
    if work == "await":
        settings["enable_async"] = True
    api = {
        "echo": Echo,
        "await": Wait,
        "onnx": Onnx,
        "stream": Stream,
        "batch": Batch,
        "onnx-batch": OnnxBatch,
    }[work]
    workers = int(os.environ["WORKERS"])
    server = litserve.LitServer(
        api(**settings), accelerator="cpu", workers_per_device=workers, timeout=60
    )
    server.run(
        host="127.0.0.1",
        port=int(sys.argv[1]),
        num_api_servers=1,
        generate_client_file=False,
        log_level="error",
        access_log=False,
    )


if __name__ == "__main__":
    main()
