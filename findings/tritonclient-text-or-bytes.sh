#!/usr/bin/env bash
# tritonclient 2.73.0 (HTTP): as_numpy of an output of type BYTES gives bytes where the server answered in binary, and str where it
# answered in JSON. Which of the two comes is the server's choice too, so code that decodes the items fails with some servers.
# Seen: binary bytes, JSON str
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet 'tritonclient[http]==2.73.0' numpy==2.4.6
seen=$("$folder/venv/bin/python" -c '
import json, numpy, struct, threading
from http.server import BaseHTTPRequestHandler, HTTPServer
import tritonclient.http as triton

class Server(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def do_POST(self):
        self.rfile.read(int(self.headers["Content-Length"]))
        output = {"name": "text", "datatype": "BYTES", "shape": [1]}
        tail = b""
        if "binary" in self.path:
            tail = struct.pack("<I", 2) + b"ab"
            output["parameters"] = {"binary_data_size": len(tail)}
        else:
            output["data"] = ["ab"]
        head = json.dumps({"model_name": "m", "outputs": [output]}).encode()
        self.send_response(200)
        if tail:
            self.send_header("Inference-Header-Content-Length", str(len(head)))
        self.send_header("Content-Length", str(len(head + tail)))
        self.end_headers()
        self.wfile.write(head + tail)

server = HTTPServer(("127.0.0.1", 0), Server)
threading.Thread(target=server.serve_forever, daemon=True).start()
client = triton.InferenceServerClient(f"127.0.0.1:{server.server_port}")
item = triton.InferInput("x", [1], "FP32")
item.set_data_from_numpy(numpy.ones(1, "float32"))
kinds = [type(client.infer(model, [item]).as_numpy("text")[0]).__name__ for model in ("binary", "json")]
print(f"binary {kinds[0]}, JSON {kinds[1]}")')
echo "$seen"
[[ $seen == "binary bytes, JSON str" ]]
