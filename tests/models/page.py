"""Models that tests/browser looks at through the page at /docs."""

import base64
import os
import sys
import time
import wave
from typing import Any, Iterator, Optional, Union

from cog import BaseModel, BaseRunner, ConcatenateIterator, Input, Path, Secret, current_scope, example, openai, streaming

PNG = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAIAAAACCAIAAAD91JpzAAAAEElEQVR4nGP4z8AARAwQCgAf7gP9i18U1AAAAABJRU5ErkJggg=="
)

# A tenth of a second of nothing, 8000 samples a second.
WAV = b"RIFF" + (36 + 800).to_bytes(4, "little") + b"WAVEfmt " + b"\x10\0\0\0\1\0\1\0" + (8000).to_bytes(4, "little")
WAV += (8000).to_bytes(4, "little") + b"\1\0\x08\0data" + (800).to_bytes(4, "little") + b"\x80" * 800

# A second of 16 by 16 pixels, two pictures a second.
WEBM = base64.b64decode(
    "GkXfo59ChoEBQveBAULygQRC84EIQoKEd2VibUKHgQJChYECGFOAZwEAAAAAAAHwEU2bdLpNu4tTq4QVSalmU6yBoU27i1OrhBZUrmtTrIHYTbuMU6uE"
    "ElTDZ1OsggEbTbuMU6uEHFO7a1OsggHa7AEAAAAAAABZAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"
    "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAVSalmsirXsYMPQkBNgI1MYXZmNjIuMTIuMTAyV0GNTGF2ZjYyLjEyLjEwMkSJiECPQAAA"
    "AAAAFlSua76uAQAAAAAAADXXgQFzxYhrAI4kWhMhT5yBACK1nIN1bmSIgQCGhVZfVlA4g4EBI+ODhB3NZQDghrCBELqBEBJUw2fYc3OgY8CAZ8iaRaOH"
    "RU5DT0RFUkSHjUxhdmY2Mi4xMi4xMDJzc7JjwItjxYhrAI4kWhMhT2fIoUWjiERVUkFUSU9ORIeTMDA6MDA6MDEuMDAwMDAwMDAwAB9DtnXd54EAo6OB"
    "AACAEAIAnQEqEAAQAABHCIWFiIWEiAICAAwNYAD+/6tQgKOzgQH0AJECAAEQEAAYCdaoD+AP6Ag1P/LNQAAA/v1u8//jmTcwxP+Obf/xYTwOKMj/8VEA"
    "HFO7a5G7j7OBALeK94EB8YIBePCBAw=="
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
        if prompt == "fail":
            raise ValueError("told to")
        current_scope().record_metric("tokens", 7)
        return {
            "prompt": prompt, "steps": steps, "scale": scale, "scheduler": scheduler, "sure": sure, "sizes": sizes,
            "token": token and len(token.get_secret_value()), "note": note,
        }


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


class Media(BaseRunner):
    """Shows what it has.

    In a second paragraph: <i>no markup</i>.
    """

    def run(self) -> Any:
        files = {
            "one.png": PNG, "two.png": PNG, "beep.wav": WAV, "film.webm": WEBM, "broken.mp4": b"no film", "notes.txt": "naïve <b>notes</b>".encode(),
            "facts.json": b'{"a": [1, 2]}', "page.html": b"<script>document.title = 'broken in'</script>", "model.bin": b"\x00\x01",
        }
        for name, content in files.items():
            Path(name).write_bytes(content)
        return {
            "pictures": [Path("one.png"), Path("two.png")],
            "deep": {"mask": Path("one.png"), "rows": [{"score": 0.5, "crop": Path("two.png")}]},
            "sound": Path("beep.wav"),
            "film": Path("film.webm"),
            "broken": Path("broken.mp4"),
            "texts": [Path("notes.txt"), Path("facts.json"), Path("page.html")],
            "weights": Path("model.bin"),
        }


class Awkward(BaseRunner):
    """Inputs whose names are keys of a request, and values that JavaScript or a shell may spoil."""

    def run(
        self,
        input: Path,
        context: str = "$HOME `id` 'x' \\ \"y\"",
        seed: int = 7,
        anything: Union[str, int] = "5",
        flags: list[bool] = [True, False],
        token: Secret = Input(default=None),
    ) -> dict[str, Any]:
        secret = token.get_secret_value() if token else ""
        return {
            "bytes": list(input.read_bytes()), "context": context, "seed": seed, "anything": anything, "flags": flags,
            "token": len(secret),
        }


class Exemplary(BaseRunner):
    """Gives an example of its inputs."""

    @example(prompt="a red fox", image="note.txt", steps=7)
    def run(self, prompt: str, image: Path, steps: int = 3, style: Optional[str] = None) -> str:
        return f"{prompt}, {steps}: {image.read_text()}"


class Mixed(BaseRunner):
    """A file beside values of every simple type."""

    def run(
        self,
        image: Path,
        others: list[Path] = [],
        prompt: str = "it's; \"so\" @x <y>\n$z",
        steps: int = 3,
        scale: float = 0.5,
        sure: bool = True,
        sizes: list[int] = [1, 2],
        options: dict[str, Any] = {"a": None},
        token: Secret = Input(default=None),
    ) -> dict[str, Any]:
        return {
            "image": list(image.read_bytes()), "others": [other.read_text() for other in others], "prompt": prompt,
            "steps": steps, "scale": scale, "sure": sure, "sizes": sizes, "options": options,
            "token": len(token.get_secret_value()) if token else 0,
        }


def long(
    a: str = "1", b: str = "2", c: str = "3", d: str = "4", e: str = "5", f: str = "6", g: str = "7", h: str = "8",
    i: str = "9", j: str = "10", k: str = "11", l: str = "12", m: str = "13", n: str = "14", o: str = "15",
) -> str:
    return "\n".join([a, b, c, d, e, f, g, h, i, j, k, l, m, n, o] * 10)


class Files(BaseRunner):
    def run(self, image: Path, others: list[Path] = []) -> list[Path]:
        Path("copy.png").write_bytes(image.read_bytes())
        Path("list.txt").write_text(" ".join(other.read_text() for other in others))
        return [Path("copy.png"), Path("list.txt")]


class Row(BaseModel):
    name: str
    score: float


class Shapes(BaseRunner):
    def run(self, shape: str = Input(default="rows", choices=["rows", "vector", "floats", "markup", "nothing", "error"])) -> Any:
        if shape == "error":
            print("Traceback (most recent call last):\n  \x1b[1;31mnoise\x1b[0m before it")
            raise ValueError("no <such> shape")
        return {
            "rows": [Row(name="a", score=0.5), Row(name="b", score=0.25)],
            "vector": [0.5, 0.25, 1, 2, 3],
            "floats": {"embedding": [0.1 + 0.2, -1 / 3, 2e-9 / 3, 12345678.5, 7], "score": 2 / 3},
            "markup": "<img src=x onerror=\"document.title='broken in'\"><script>alert(1)</script>",
            "nothing": None,
        }[shape]


class Late(BaseRunner):
    def setup(self) -> None:
        print("\rweights:  0%|    \rweights: 45%|####", end="", flush=True)
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


class Chat(BaseRunner):
    @streaming
    @openai("chat")
    def run(
        self, messages: list[dict[str, Any]], temperature: float = Input(default=0.5, ge=0, le=2), tone: str = "dry"
    ) -> ConcatenateIterator[str]:
        for i, word in enumerate(f"{messages[-1]['content']}, said in a {tone} tone at {temperature}".split(" ")):
            yield " " + word if i else word


class Talk(BaseRunner):
    """Talks, without @streaming."""

    @openai("chat")
    def run(self, messages: list[dict[str, Any]]) -> ConcatenateIterator[str]:
        text = messages[-1]["content"]
        if text == "fail":
            raise ValueError("told to")
        yield f"{len(messages) - 1} messages before. "
        while text == "wait":
            time.sleep(0.01)
        yield "Some **bold** text\n\n1. one\n2. two\n\n```py\nx = '<b>'\n\n```\n"
        yield "| a | b |\n|---|---|\n| 1 | 2 |\n\n<img src=x> [a](https://example.com/) [b](javascript:alert(1))"


class Words(BaseRunner):
    def run(self) -> ConcatenateIterator[str]:
        for i in range(3):
            yield f"word{i} "
            if i == 1:
                wait_for("open")


class Recorded(BaseRunner):
    def run(self, steps: int = 2) -> str:
        self.record_metric("progress", 0.4)
        wait_for("open")
        return "done"


class Bars(BaseRunner):
    def run(self) -> str:
        sys.stderr.write("begin\n\rdraw:  0%|    \rdraw: 45%|####")
        sys.stderr.flush()
        wait_for("open")
        sys.stderr.write("\rdraw: 100%|########\n")
        return "done"


class Secretive(BaseRunner):
    def run(self, image: Path, prompt: str = "x", token: Optional[Secret] = None) -> list[Path]:
        print("drawing", prompt)
        Path("copy.png").write_bytes(image.read_bytes())
        return [Path("copy.png")]


class Rows(BaseRunner):
    def run(
        self,
        words: list[str],
        mask: Optional[Path] = None,
        sizes: list[int] = [1, 2],
        table: dict[str, Any] = {"a": 1},
        counts: dict[str, int] = {},
        sure: Optional[bool] = None,
        on: Optional[bool] = True,
    ) -> dict[str, Any]:
        return {
            "words": words, "sizes": sizes, "table": table, "counts": counts, "sure": sure, "on": on, "mask": mask is not None,
        }


class Devices(BaseRunner):
    def run(self, image: Path, voice: Path) -> dict[str, Any]:
        with wave.open(str(voice)) as sound:
            frames, channels = sound.getnframes(), sound.getnchannels()
        return {"image": "jpeg" if image.read_bytes()[:2] == b"\xff\xd8" else "other", "frames": frames, "channels": channels}


class Twice(BaseRunner):
    def run(self, image: Path) -> list[Path]:
        for name in ("one.png", "two.png"):
            Path(name).write_bytes(image.read_bytes())
        return [Path("one.png"), Path("two.png")]


class Lengthy(BaseRunner):
    def run(self, how: str = Input(default="text", choices=["text", "stream"])) -> ConcatenateIterator[str]:
        for _ in range(1 if how == "text" else 5000):
            yield "0123456789" * (500_000 if how == "text" else 100)


class Reloaded(BaseRunner):
    """Draws."""

    def run(self, prompt: str = "x", steps: int = 3) -> str:
        return f"{prompt}, {steps}"


class Film(BaseRunner):
    def run(self, sound: bool = False) -> Path:
        name = "beep.wav" if sound else "film.webm"
        Path(name).write_bytes(WAV if sound else WEBM)
        return Path(name)


class Complete(BaseRunner):
    @openai("completions")
    def run(self, prompt: str = "once", seed: int = 3) -> str:
        return f"{prompt} upon {seed} times"
