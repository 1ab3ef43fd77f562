"""Make sample.wav: two utterances of a synthetic voice, with silence and noise around them.

    python make_sample.py

The voice is the classic one: pulses at the pitch, through two-pole filters at the formants of vowels (Peterson and
Barney, 1952). Needs nothing but Python, and makes the same file each time.
"""

import array
import math
import random
import wave

RATE = 16000
VOWELS = {
    "a": (730, 1090, 2440),
    "i": (270, 2290, 3010),
    "u": (300, 870, 2240),
    "e": (530, 1840, 2480),
}
BANDWIDTHS = (80, 100, 120)


def resonate(samples: list[float], frequency: float, bandwidth: float) -> list[float]:
    """Filter with one resonance; frequencies in Hz."""
    radius = math.exp(-math.pi * bandwidth / RATE)
    one, two = 2 * radius * math.cos(math.tau * frequency / RATE), -(radius**2)
    out, before, last = [], 0.0, 0.0
    for sample in samples:
        last, before = (1 - radius) * sample + one * last + two * before, last
        out.append(last)
    return out


def syllable(vowel: str, seconds: float, pitch: float) -> list[float]:
    """Return one vowel whose pitch (in Hz) falls and whose loudness rises and falls."""
    count, phase, source = int(seconds * RATE), 0.0, []
    for i in range(count):
        phase += pitch * (1.1 - 0.25 * i / count) / RATE
        pulse = phase >= 1
        phase -= pulse
        source.append((4.0 if pulse else 0.0) * math.sin(math.pi * i / count) ** 0.5)
    for formant, bandwidth in zip(VOWELS[vowel], BANDWIDTHS):
        source = resonate(source, formant, bandwidth)
    loudest = max(map(abs, source))
    return [0.4 * sample / loudest for sample in source]


def hiss(seconds: float, loudness: float, noise: random.Random) -> list[float]:
    """Return noise, as a consonant or as the room."""
    return [loudness * noise.uniform(-1, 1) for _ in range(int(seconds * RATE))]


def main() -> None:
    """Write the file."""
    noise = random.Random(1)
    samples = hiss(0.6, 0.001, noise)
    for utterance in ("aiueai", "uaei"):
        for number, vowel in enumerate(utterance):
            samples += hiss(0.05, 0.03, noise) + syllable(vowel, 0.16, 130 - 4 * number)
        samples += hiss(0.9, 0.001, noise)
    with wave.open("sample.wav", "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(RATE)
        file.writeframes(
            array.array("h", (int(32767 * max(-1, min(1, s))) for s in samples)).tobytes()
        )


if __name__ == "__main__":
    main()
