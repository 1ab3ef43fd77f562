#!/usr/bin/env bash
# ml-dtypes 0.6.0 with NumPy 2.4.6: dtype.kind does not tell floats. Of eight float8 types one has kind f, the others, bfloat16 and
# int4 have kind V, which is that of raw bytes. Code that chooses by kind takes float8_e5m2 for a float and float8_e4m3fn for bytes.
# Seen: bfloat16 V, float8_e4m3fn V, float8_e5m2 f, int4 V
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet ml-dtypes==0.6.0 numpy==2.4.6
seen=$("$folder/venv/bin/python" -c '
import ml_dtypes, numpy
names = "bfloat16", "float8_e4m3fn", "float8_e5m2", "int4"
print(*(f"{name} {numpy.dtype(getattr(ml_dtypes, name)).kind}" for name in names), sep=", ")')
echo "$seen"
[[ $seen == "bfloat16 V, float8_e4m3fn V, float8_e5m2 f, int4 V" ]]
