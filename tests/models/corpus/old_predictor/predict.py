"""What Cog's first guides taught: predict, cog.Path by its name, a File, no annotations but those needed."""

from typing import Optional

import cog


class Predictor(cog.BasePredictor):
    def setup(self):
        self.prefix = "hello "

    def predict(
        self,
        text: str = cog.Input(description="Text to prefix with 'hello '"),
        image: Optional[cog.Path] = None,
    ) -> str:
        return self.prefix + text + ("" if image is None else image.suffix)
