#!/usr/bin/env bash
# Pillow 13.0.0: a GIF counts hundredths of a second, and Pillow cuts a duration down to them, without a word and without rounding.
# A video of 60 frames a second (16 ms each) becomes one of 100, one of 24 (42 ms) becomes one of 25, and 19 ms become 10.
# Seen: 16 -> 10, 19 -> 10, 33 -> 30, 42 -> 40
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet pillow==13.0.0
seen=$("$folder/venv/bin/python" -W error -c '
import io
from PIL import Image
frames = [Image.new("RGB", (8, 8), (number * 40, 0, 0)) for number in range(3)]
def kept(duration):
    file = io.BytesIO()
    frames[0].save(file, "GIF", save_all=True, append_images=frames[1:], duration=duration)
    return Image.open(file).info["duration"]
print(*(f"{duration} -> {kept(duration)}" for duration in (16, 19, 33, 42)), sep=", ")')
echo "$seen"
[[ $seen == "16 -> 10, 19 -> 10, 33 -> 30, 42 -> 40" ]]
