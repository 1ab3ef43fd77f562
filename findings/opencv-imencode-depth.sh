#!/usr/bin/env bash
# opencv-python-headless 5.0.0.93: imencode reports success for pictures of a depth that the format lacks, and cuts their values off
# instead of scaling them. A float picture from 0 to 1 is a black PNG, one of 16 bits a white JPEG. A line on stderr is all.
# Seen: float32 PNG True, most 1 of 255; uint16 JPEG True, least 255 of 255
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet opencv-python-headless==5.0.0.93 numpy==2.4.6
seen=$("$folder/venv/bin/python" -c '
import cv2, numpy
floats, file = cv2.imencode(".png", numpy.linspace(0, 1, 16, dtype="float32").reshape(4, 4))
most = cv2.imdecode(file, cv2.IMREAD_UNCHANGED).max()
deep, file = cv2.imencode(".jpg", numpy.full((4, 4, 3), 30000, "uint16"))
least = cv2.imdecode(file, cv2.IMREAD_UNCHANGED).min()
print(f"float32 PNG {floats}, most {most} of 255; uint16 JPEG {deep}, least {least} of 255")')
echo "$seen"
[[ $seen == "float32 PNG True, most 1 of 255; uint16 JPEG True, least 255 of 255" ]]
