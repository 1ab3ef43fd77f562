"""Uses pydantic where it is installed, else plain classes: the same model in every environment."""

from typing import List

from cog import BaseModel as CogModel
from cog import BaseRunner

try:
    from pydantic import VERSION
    from pydantic import BaseModel as Base
except ImportError:
    VERSION, Base = "none", CogModel


class Item(Base):
    name: str
    scores: List[float]


class Runner(BaseRunner):
    def setup(self) -> None:
        print("pydantic", VERSION.split(".")[0])

    def run(self, names: List[str]) -> List[Item]:
        return [Item(name=name, scores=[float(len(name))]) for name in names]
