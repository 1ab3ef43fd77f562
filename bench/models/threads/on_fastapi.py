"""The work on FastAPI, in its pool of threads; WORK says which."""

import os

from fastapi import FastAPI
from pydantic import BaseModel, StrictInt
from work import WORK

app = FastAPI()
work = WORK[os.environ["WORK"]]()


class Number(BaseModel):
    x: StrictInt


class Request(BaseModel):
    input: Number


class Answer(BaseModel):
    output: int


@app.post("/predictions")
def predict(request: Request) -> Answer:
    return Answer(output=work(request.input.x))
