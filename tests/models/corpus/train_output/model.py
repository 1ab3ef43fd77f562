"""Training and predicting in one module, with a structured output of the training."""

from cog import BaseModel, BasePredictor, Input, Path


class TrainingOutput(BaseModel):
    weights: Path
    loss: float


def train(destination: str, prompt: str = Input(default="x", description="What to learn")) -> TrainingOutput:
    if destination == "nowhere":
        raise PermissionError("may not write to nowhere")
    path = Path("trained.txt")
    path.write_text(prompt * 3)
    return TrainingOutput(weights=path, loss=0.25)


class Predictor(BasePredictor):
    def predict(self) -> str:
        return "predicted"
