"""Text to speech: a sound file made by the wave module, which the model names."""

import math
import struct
import tempfile
import wave
from pathlib import Path as FilePath

from cog import Input, Path


def run(
    text: str = Input(min_length=1, max_length=100),
    voice: str = Input(default="low", choices=["low", "high"]),
    speed: float = Input(default=1.0, ge=0.5, le=2.0),
) -> Path:
    pitch = {"low": 200, "high": 800}[voice]
    frames = int(len(text) * 80 / speed)
    folder = FilePath(tempfile.mkdtemp(prefix="speech"))
    with wave.open(str(folder / "speech.wav"), "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(8000)
        wave_form = (int(9000 * math.sin(i * pitch * math.tau / 8000)) for i in range(frames))
        file.writeframes(b"".join(struct.pack("<h", sample) for sample in wave_form))
    return Path(folder / "speech.wav")
