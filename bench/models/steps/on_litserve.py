"""The steps of run.py in LitServe's loop for continuous batching, which streams each token: on_litserve.py PORT."""

import os
import sys
from typing import Any

import litserve
from engine import Engine
from litserve.loops.continuous_batching_loop import ContinuousBatchingLoop, Output
from litserve.utils import LitAPIStatus

ACTIVE = 32


class Steps(litserve.LitAPI):
    def setup(self, device: str) -> None:
        self.engine = Engine(int(os.environ["STEP_US"]), int(os.environ["ITEM_US"]))
        self.active: dict[str, list[int]] = {}  # token and end of each sequence

    def add_request(self, uid: str, request: Any) -> None:
        self.active[uid] = [0, request["input"]["tokens"]]

    def has_capacity(self) -> bool:
        return len(self.active) < ACTIVE

    def has_active_requests(self) -> bool:
        return bool(self.active)

    def step(self, previous: list[Output] | None) -> list[Output]:
        names = list(self.active)
        tokens = self.engine.step([self.active[name][0] for name in names])
        outputs = []
        for name, token in zip(names, tokens, strict=True):
            self.active[name][0] = token
            outputs.append(Output(name, self.engine.steps, LitAPIStatus.OK))
            if token >= self.active[name][1]:
                outputs.append(Output(name, self.engine.steps, LitAPIStatus.FINISH_STREAMING))
                del self.active[name]
        return outputs

    def decode_request(self, request):  # an annotation would describe the query
        return request

    def encode_response(self, output: int) -> str:
        return f"{output}\n"


if __name__ == "__main__":
    api = Steps(stream=True, api_path="/predictions", loop=ContinuousBatchingLoop())
    litserve.LitServer(api, accelerator="cpu", timeout=600).run(
        host="127.0.0.1",
        port=int(sys.argv[1]),
        num_api_servers=1,
        generate_client_file=False,
        log_level="error",
        access_log=False,
    )
