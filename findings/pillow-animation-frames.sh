#!/usr/bin/env bash
# Pillow 13.0.0: frames that equal the one before are merged when an animation is saved as GIF, PNG or WebP, and n_frames counts what
# is left. AVIF and TIFF keep each frame. A model's video of nine frames that stands still for a while has fewer of them.
# Seen: GIF 3, PNG 3, WEBP 3, AVIF 9, TIFF 9
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet pillow==13.0.0
seen=$("$folder/venv/bin/python" -c '
import io
from PIL import Image
frames = [Image.new("RGB", (8, 8), (number // 3 * 40, 0, 0)) for number in range(9)]
def kept(name):
    file = io.BytesIO()
    frames[0].save(file, name, save_all=True, append_images=frames[1:], duration=40)
    return Image.open(file).n_frames
print(*(f"{name} {kept(name)}" for name in ("GIF", "PNG", "WEBP", "AVIF", "TIFF")), sep=", ")')
echo "$seen"
[[ $seen == "GIF 3, PNG 3, WEBP 3, AVIF 9, TIFF 9" ]]
