"""Files, lists and optional parts in one structured output."""

from typing import List, Optional

from cog import BaseModel, BaseRunner, Path


class Detection(BaseModel):
    label: str
    score: float
    box: List[int]


class Output(BaseModel):
    image: Path
    detections: List[Detection]
    caption: Optional[str] = None
    note: str = "none"

    def best(self) -> Detection:
        return max(self.detections, key=lambda d: d.score)


class Runner(BaseRunner):
    def run(self, labels: List[str], missing: bool = False) -> Output:
        image = Path("missing.png" if missing else "annotated.svg")
        if not missing:
            image.write_text("<svg/>")
        found = [Detection(label=name, score=1 / (i + 1), box=[i] * 4) for i, name in enumerate(labels)]
        output = Output(image=image, detections=found)
        output.caption = output.best().label if found else None
        return output
