"""The work on LitServe, in as many workers as the others have threads; WORK and WORKERS say which and how many."""

import os
import sys

import litserve
from pydantic import BaseModel, StrictInt
from work import WORK


class Number(BaseModel):
    x: StrictInt


class Request(BaseModel):
    input: Number


class API(litserve.LitAPI):
    def setup(self, device: str) -> None:
        self.work = WORK[os.environ["WORK"]]()

    def decode_request(self, request: Request) -> int:
        return request.input.x

    def predict(self, x: int) -> int:
        return self.work(x)

    def encode_response(self, output: int) -> dict[str, int]:
        return {"output": output}


if __name__ == "__main__":
    server = litserve.LitServer(
        API(api_path="/predictions"),
        accelerator="cpu",
        workers_per_device=int(os.environ["WORKERS"]),
    )
    server.run(
        host="127.0.0.1", port=int(sys.argv[1]), generate_client_file=False, log_level="error"
    )
