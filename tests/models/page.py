"""Models that tests/browser looks at through the page at /docs."""

import base64
import os
import time
from typing import Any, Iterator, Optional

from cog import BaseModel, BaseRunner, ConcatenateIterator, Input, Path, Secret, current_scope, streaming

PNG = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAIAAAACCAIAAAD91JpzAAAAEElEQVR4nGP4z8AARAwQCgAf7gP9i18U1AAAAABJRU5ErkJggg=="
)


def wait_for(name: str) -> None:
    while not os.path.exists(name):
        time.sleep(0.002)


class Form(BaseRunner):
    """One input of each kind."""

    def run(
        self,
        prompt: str = Input(description="What to <b>draw</b>"),
        steps: int = Input(default=20, ge=1, le=50, description="How often"),
        scale: float = 7.5,
        scheduler: str = Input(default="DDIM", choices=["DDIM", "Euler"]),
        sure: bool = False,
        sizes: list[int] = [1, 2],
        token: Optional[Secret] = None,
        note: Optional[str] = None,
    ) -> dict[str, Any]:
        print("drawing", prompt)
        current_scope().record_metric("tokens", 7)
        return {
            "prompt": prompt, "steps": steps, "scale": scale, "scheduler": scheduler, "sure": sure, "sizes": sizes,
            "token": token and len(token.get_secret_value()), "note": note,
        }  # fmt: skip


class Tokens(BaseRunner):
    @streaming
    def run(self, n: int = 5) -> ConcatenateIterator[str]:
        for i in range(n):
            yield f"word{i} "
            if i == 1:
                wait_for("open")


class Items(BaseRunner):
    @streaming
    def run(self) -> Iterator[Path]:
        for name in ("one.png", "two.png"):
            Path(name).write_bytes(PNG)
            yield Path(name)


class Slow(BaseRunner):
    def run(self, how: str = "sync") -> str:
        print("sleeping")
        time.sleep(600)
        return "never"


class Files(BaseRunner):
    def run(self, image: Path, others: list[Path] = []) -> list[Path]:
        Path("copy.png").write_bytes(image.read_bytes())
        Path("list.txt").write_text(" ".join(other.read_text() for other in others))
        return [Path("copy.png"), Path("list.txt")]


class Row(BaseModel):
    name: str
    score: float


class Shapes(BaseRunner):
    def run(self, shape: str = Input(default="rows", choices=["rows", "vector", "markup", "nothing", "error"])) -> Any:
        if shape == "error":
            raise ValueError("no <such> shape")
        return {
            "rows": [Row(name="a", score=0.5), Row(name="b", score=0.25)],
            "vector": [0.5, 0.25, 1, 2, 3],
            "markup": "<img src=x onerror=\"document.title='broken in'\"><script>alert(1)</script>",
            "nothing": None,
        }[shape]


class Late(BaseRunner):
    def setup(self) -> None:
        wait_for("open")

    def run(self, text: str) -> str:
        return text


class Unset(BaseRunner):
    def setup(self) -> None:
        print("looking for the weights")
        raise RuntimeError("no weights here")

    def run(self, text: str) -> str:
        return text


def train(epochs: int = Input(default=2, ge=1)) -> str:
    return f"trained {epochs}"
