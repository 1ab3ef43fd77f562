#!/usr/bin/env bash
# onnxruntime 1.32.0: the import alone starts a thread, before any session is made; 1.23.2 starts none. A program that imports it
# and then forks (a preforking server) has it in the parent only, and a check for threads before a fork finds it.
# Seen: 1.23.2 starts 0, 1.32.0 starts 1
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/old"
"${PYTHON:-python3}" -m venv "$folder/new"
"$folder/old/bin/pip" install --quiet onnxruntime==1.23.2 numpy==2.4.6
"$folder/new/bin/pip" install --quiet onnxruntime==1.32.0 numpy==2.4.6
cat >"$folder/count.py" <<'PYTHON'
import os
import numpy  # whose own threads do not count
before = set(os.listdir("/proc/self/task"))
import onnxruntime
print(onnxruntime.__version__, "starts", len(set(os.listdir("/proc/self/task")) - before))
PYTHON
seen="$("$folder/old/bin/python" "$folder/count.py"), $("$folder/new/bin/python" "$folder/count.py")"
echo "$seen"
[[ $seen == "1.23.2 starts 0, 1.32.0 starts 1" ]]
