"""Switches in the environment, read before a library is imported and changed at run time."""

import os

os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
os.environ["HF_HOME"] = os.path.join(os.environ.get("MODEL_CACHE", "nowhere"), "hub")

from cog import BasePredictor  # noqa: E402
from library import settings  # noqa: E402


class Predictor(BasePredictor):
    def predict(self, debug: bool = False) -> dict:
        if debug:
            os.environ["DEBUG"] = "1"
        names = ["HF_HOME", "HF_HUB_OFFLINE", "TOKENIZERS_PARALLELISM", "EMPTY", "FROM_OUTSIDE"]
        return {
            **{name: os.environ.get(name) for name in names},
            "at import": settings,
            "DEBUG": os.getenv("DEBUG", "0"),
        }
