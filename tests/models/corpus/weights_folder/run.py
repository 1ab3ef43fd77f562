"""setup(weights): the folder ./weights where nothing else is given."""

import json
from typing import Optional

from cog import BaseRunner, Path
from cog.types import Weights


class Runner(BaseRunner):
    def setup(self, weights: Optional[Weights] = None) -> None:
        print(type(weights).__name__, weights if weights is None else Path(weights).name)
        self.config = json.loads((Path(weights) / "config.json").read_text())

    def run(self) -> str:
        return self.config["name"]
