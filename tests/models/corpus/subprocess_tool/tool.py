import json
import sys

if "--version" in sys.argv:
    print("7.1")
    raise SystemExit
if "--fail" in sys.argv:
    print("tool: cannot read this", file=sys.stderr)
    raise SystemExit(3)
with open(sys.argv[1]) as source, open(sys.argv[2], "w") as target:
    for percent in (50, 100):
        print(json.dumps({"percent": percent}), flush=True)
    target.write(source.read().upper())
