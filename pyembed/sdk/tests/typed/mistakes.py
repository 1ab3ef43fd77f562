"""What a type checker is to find in a model."""

from __future__ import annotations

import cog
from cog import BaseModel, BaseRunner, Input, Path, Secret


class Output(BaseModel):
    text: str
    score: float = 0.0


class Runner(BaseRunner):
    def run(self, image: Path, token: Secret) -> Output:
        Output()  # type: ignore
        Output(text=1)  # type: ignore
        Output(text="a", scores=1.0)  # type: ignore
        Input(default_factory=list, nope=1)  # type: ignore
        image.nope()  # type: ignore
        token.secret_value = "x" + token.get_secret_value()  # type: ignore
        self.record_metric(3, 4)  # type: ignore
        print(cog.Nope)  # type: ignore
        return image  # type: ignore
