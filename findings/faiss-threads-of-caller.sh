#!/usr/bin/env bash
# faiss-cpu 1.15.1: omp_set_num_threads sets the number for the calling thread alone. A server that sets it once at its start
# searches with all processors in its other threads.
# Seen: caller 1, other thread 3
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet faiss-cpu==1.15.1 numpy==2.4.6
seen=$(OMP_NUM_THREADS=3 "$folder/venv/bin/python" -c '
from concurrent.futures import ThreadPoolExecutor
import faiss
faiss.omp_set_num_threads(1)
other = ThreadPoolExecutor(1).submit(faiss.omp_get_max_threads).result()
print(f"caller {faiss.omp_get_max_threads()}, other thread {other}")')
echo "$seen"
[[ $seen == "caller 1, other thread 3" ]]
