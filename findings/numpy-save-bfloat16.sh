#!/usr/bin/env bash
# NumPy 2.4.6 with ml-dtypes 0.6.0: numpy.save of a bfloat16 array succeeds, without a warning, and numpy.load gives an array of
# raw bytes. The file keeps the size of an item and not its type; with float8_e5m2 it keeps an f1, which load refuses.
# Seen: bfloat16 |V2, float8_e5m2 ValueError
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet ml-dtypes==0.6.0 numpy==2.4.6
seen=$("$folder/venv/bin/python" -W error -c '
import io, ml_dtypes, numpy
def again(dtype):
    file = io.BytesIO()
    numpy.save(file, numpy.ones(2, dtype))
    file.seek(0)
    try:
        return numpy.load(file).dtype.str
    except Exception as error:
        return type(error).__name__
print(*(f"{name} {again(getattr(ml_dtypes, name))}" for name in ("bfloat16", "float8_e5m2")), sep=", ")')
echo "$seen"
[[ $seen == "bfloat16 |V2, float8_e5m2 ValueError" ]]
