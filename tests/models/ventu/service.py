"""An unmodified ventu service, to be told what to do by its requests."""

from __future__ import annotations

import os
import sys
import time

import ventu
from pydantic import BaseModel


class Request(BaseModel):
    text: str
    times: int = 1  # how often the answer repeats the text
    gate: str | None = None  # a file that the batch waits for
    end: bool = False  # end the process


class Answer(BaseModel):
    text: str
    pid: int
    together: int


class Service(ventu.Ventu):
    def batch_inference(self, batch: list[Request]) -> list[dict[str, object]]:
        for item in batch:
            if item.end:
                os._exit(3)
            while item.gate and not os.path.exists(item.gate):
                time.sleep(0.001)
        together = len(batch)
        return [{"text": i.text * i.times, "pid": os.getpid(), "together": together} for i in batch]


def main() -> None:
    protocol, address = sys.argv[1:3]
    service = Service(Request, Answer, use_msgpack="msgpack" in sys.argv)
    if protocol == "unix":
        service.run_unix(address)
    else:
        host, port = address.rsplit(":", 1)
        service.run_tcp(host, int(port))


if __name__ == "__main__":
    main()
