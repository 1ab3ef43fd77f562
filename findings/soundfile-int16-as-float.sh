#!/usr/bin/env bash
# soundfile 0.14.0 (libsndfile 1.2.2): samples of int16 written to a WAV of subtype FLOAT keep their numbers and are not scaled to
# -1 .. 1, so that the file is far too loud. The same samples written as PCM_16 and read as floats are scaled.
# Seen: 1000 as PCM_16 is 0.0305, as FLOAT 1000.0
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet soundfile==0.14.0 numpy==2.4.6
seen=$("$folder/venv/bin/python" -W error -c '
import io, numpy, soundfile
def read(subtype):
    file = io.BytesIO()
    soundfile.write(file, numpy.full(100, 1000, "int16"), 16000, format="WAV", subtype=subtype)
    file.seek(0)
    return soundfile.read(file)[0][0]
short, float_ = read("PCM_16"), read("FLOAT")
print(f"1000 as PCM_16 is {short:.4f}, as FLOAT {float_}")')
echo "$seen"
[[ $seen == "1000 as PCM_16 is 0.0305, as FLOAT 1000.0" ]]
