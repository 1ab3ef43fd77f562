"""An inference server inside of the model, as with vLLM or Triton, that predictions call over HTTP."""

import http.server
import json
import threading
import urllib.error
import urllib.request

from cog import BaseRunner


class Handler(http.server.BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if "text" not in body:
            self.send_error(400, "no text")
            return
        answer = json.dumps({"length": len(body["text"])}).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def log_message(self, format: str, *args) -> None:
        print("inner server:", args[0])


class Runner(BaseRunner):
    def setup(self) -> None:
        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def run(self, body: dict) -> dict:
        url = f"http://127.0.0.1:{self.server.server_port}/"
        request = urllib.request.Request(url, json.dumps(body).encode())
        with urllib.request.build_opener(urllib.request.ProxyHandler({})).open(request) as answer:
            return json.load(answer)
