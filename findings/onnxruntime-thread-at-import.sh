#!/usr/bin/env bash
# onnxruntime 1.32.0: the import alone starts a thread, before any session is made; 1.23.2 starts none. A program that imports it
# and then forks (a preforking server) has it in the parent only, and a check for threads before a fork finds it.
# Seen: 1.23.2 starts 0, 1.32.0 starts 1
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
seen=
for version in 1.23.2 1.32.0; do
  "${PYTHON:-python3}" -m venv --clear "$folder/venv"
  "$folder/venv/bin/pip" install --quiet "onnxruntime==$version"
  seen+=$("$folder/venv/bin/python" -c '
import os
import numpy  # whose own threads do not count
before = set(os.listdir("/proc/self/task"))
import onnxruntime
started = set(os.listdir("/proc/self/task")) - before
print(f"{onnxruntime.__version__} starts {len(started)}", end=", ")' 2>/dev/null ||
    "$folder/venv/bin/python" -c 'print("import failed, ", end="")')
done
seen=${seen%, }
echo "$seen"
[[ $seen == "1.23.2 starts 0, 1.32.0 starts 1" ]]
