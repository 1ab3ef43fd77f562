#!/usr/bin/env bash
# soundfile 0.14.0 (libsndfile 1.2.2): a sound without samples is written as FLAC without an error, and the file cannot be opened
# again. As WAV and OGG it can.
# Seen: WAV (0,), OGG (0,), FLAC LibsndfileError
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet soundfile==0.14.0 numpy==2.4.6
seen=$("$folder/venv/bin/python" -c '
import io, numpy, soundfile
def read(name):
    file = io.BytesIO()
    soundfile.write(file, numpy.zeros(0, "float32"), 16000, format=name)
    file.seek(0)
    try:
        return soundfile.read(file)[0].shape
    except soundfile.SoundFileError as error:
        return type(error).__name__
print(*(f"{name} {read(name)}" for name in ("WAV", "OGG", "FLAC")), sep=", ")')
echo "$seen"
[[ $seen == "WAV (0,), OGG (0,), FLAC LibsndfileError" ]]
