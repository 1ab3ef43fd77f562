"""A model that works with several versions of Cog by catching what some lack."""

import warnings

try:
    from cog import ExperimentalFeatureWarning

    warnings.filterwarnings("ignore", category=ExperimentalFeatureWarning)
except ImportError:
    pass
try:
    from cog import AsyncConcatenateIterator, emit_metric
except ImportError:
    emit_metric = None
from cog import BasePredictor, ConcatenateIterator, Input  # noqa: E402


class Predictor(BasePredictor):
    def predict(self, prompt: str = Input(default="")) -> ConcatenateIterator[str]:
        for word in prompt.split():
            yield word
        if emit_metric is not None:
            emit_metric("word_count", len(prompt.split()))
