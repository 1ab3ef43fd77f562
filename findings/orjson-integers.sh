#!/usr/bin/env bash
# orjson 3.13.0: an integer above 64 bits is read as a float, so that its last digits are lost, where json, msgspec 0.22.0 and ujson
# 6.1.0 give the integer. To write such an integer is an error.
# Seen: json int, msgspec int, ujson int, orjson float
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet orjson==3.13.0 msgspec==0.22.0 ujson==6.1.0
seen=$("$folder/venv/bin/python" -c '
import json, msgspec, orjson, ujson
text = str(2**64)
print(f"json {type(json.loads(text)).__name__}, msgspec {type(msgspec.json.decode(text)).__name__}, "
      f"ujson {type(ujson.loads(text)).__name__}, orjson {type(orjson.loads(text)).__name__}")
try:
    orjson.dumps(2**64)
except TypeError:
    pass
else:
    print("orjson writes it")')
echo "$seen"
[[ $seen == "json int, msgspec int, ujson int, orjson float" ]]
