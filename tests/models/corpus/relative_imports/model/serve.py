"""A predictor inside of a package, with relative imports at import and at run time."""

from cog import BaseRunner

from . import VERSION
from .layers import attention as attn
from .layers.blocks import Block


class Runner(BaseRunner):
    def setup(self) -> None:
        self.block = Block(scale=2)

    def run(self, x: int) -> dict:
        from .late import late

        return {"y": attn.attend(self.block(x)), "version": VERSION, "late": late(), "name": __name__}
