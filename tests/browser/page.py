"""The pages at /docs and /dashboard in a browser, for the scenes beside this file."""

from __future__ import annotations

import base64
import json
import os
import pathlib
import re
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from playwright.sync_api import Page, expect

# Four black and white pixels.
PNG = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAIAAAACCAIAAAD91JpzAAAAEElEQVR4nGP4z8AARAwQCgAf7gP9i18U1AAAAABJRU5ErkJggg=="
)


class Look:
    """A browser with the page, and what it did."""

    def __init__(self, page: Page, url: str, folder: str):
        self.page = page
        self.url = url
        self.folder = pathlib.Path(folder)
        self.faults: list[str] = []
        self.refusals: list[int] = []  # statuses that the scene expects, which the console tells of as errors
        self.loses = False  # the scene expects that the server goes away
        page.on("pageerror", lambda error: self.faults.append(f"exception: {error}"))
        page.on("console", self._said)
        page.on("request", self._asked)

    def _said(self, message) -> None:
        if message.type not in ("error", "warning"):
            return
        if self.loses and "net::ERR_" in message.text:
            return
        status = re.search(r"responded with a status of (\d+)", message.text)
        if status and status[1] == "404" and "/predictions/page-" in message.location["url"]:
            return  # the page asks for the state of its request, or cancels it, before the server has it
        if not status or int(status[1]) not in self.refusals:
            self.faults.append(f"{message.type} on the console: {message.text} {message.location['url']}")

    def _asked(self, request) -> None:
        if not request.url.startswith((self.url + "/", "data:", "blob:")):
            self.faults.append(f"asks elsewhere: {request.url}")

    def load(self, path: str = "/docs") -> None:
        response = self.page.goto(self.url + path)
        assert response and response.status == 200, response

    def input(self, name: str):
        return self.page.locator("#in-" + name)

    def run(self) -> None:
        self.page.get_by_role("button", name="Run").click()

    def ends(self, status: str) -> None:
        expect(self.page.locator("#state")).to_contain_text(f"{status} in")

    def runs(self, status: str = "succeeded") -> None:
        """Run, and wait for the end."""
        self.run()
        self.ends(status)

    def give_token(self, token: str) -> None:
        """Answer the page's question for a token."""
        self.page.locator("#token-dialog input").fill(token)
        self.page.locator("#token-dialog").get_by_role("button", name="Continue").click()

    @property
    def output(self):
        return self.page.locator("#output")

    def answer(self):
        """Return the answer as the page shows it."""
        return json.loads(self.page.locator("#json").text_content() or "")

    def tab(self, name: str) -> None:
        self.page.get_by_role("tab", name=name).click()

    def edit(self, name: str, text: str) -> None:
        """Fill in a list or a dict as JSON."""
        if not self.page.locator(f"#in-{name}-json").is_visible():
            self.page.get_by_role("button", name=f"{name} as JSON").click()
        self.page.locator(f"#in-{name}-json").fill(text)

    def code(self, language: str) -> str:
        self.tab("Code")
        self._code_button(language).click()
        return self.page.locator("#code").text_content() or ""

    def _code_button(self, language: str):
        return self.page.get_by_role("button", name=language, exact=True)

    def has_code(self, language: str) -> bool:
        self.tab("Code")
        return self._code_button(language).is_visible()

    def codes(self) -> dict[str, str]:
        return {name.lower().split()[0]: self.code(name) for name in ("curl", "Python", "JavaScript", "OpenAI client") if self.has_code(name)}

    def report(self, output, files: dict[str, bytes] | None = None, environment: dict[str, str] | None = None) -> None:
        """Tell the test the code that the page shows, what it needs, and what the page got."""
        encoded = {name: base64.b64encode(content).decode() for name, content in (files or {}).items()}
        print(json.dumps({**self.codes(), "output": output, "files": encoded, "environment": environment or {}}))

    def in_sight(self, locator) -> bool:
        expect(locator).to_be_visible()
        box, size = locator.bounding_box(), self.page.viewport_size
        return 0 <= box["y"] and box["y"] + box["height"] <= size["height"]

    def opens(self, gate: str = "open") -> None:
        (self.folder / gate).touch()

    def ask(self, what: str) -> None:
        """Have the test do something, and wait until it is done."""
        print("ask", what, flush=True)
        assert sys.stdin.readline() == "done\n", f"the test did not {what}"

    def audit(self, what: str, least: int = 11) -> None:
        """Check what axe-core can check of WCAG 2.2 A and AA; at least so many rules found something to check."""
        self.page.evaluate(pathlib.Path(os.environ["AXE"]).read_text())
        tags = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"]
        found = self.page.evaluate("tags => axe.run(document, {runOnly: {type: 'tag', values: tags}})", tags)
        faults = [
            f"{v['id']} ({v['help']}): " + "; ".join(n["html"][:150] + " " + n["failureSummary"][:200] for n in v["nodes"][:5])
            for v in found["violations"]
        ]
        assert not faults, f"{what}:\n" + "\n".join(faults)
        assert len(found["passes"]) >= least, f"{what}: axe-core looked at nothing: {[p['id'] for p in found['passes']]}"

    def predict(self, id: str, wait: bool = True, **inputs: str) -> None:
        """Make a prediction, not by the page."""
        headers = {} if wait else {"Prefer": "respond-async"}
        response = self.page.request.post(self.url + "/predictions", data={"id": id, "input": inputs}, headers=headers)
        assert response.status == (200 if wait else 202), response.text()


class Receiver(ThreadingHTTPServer):
    """Receives webhooks: 410 at /lost, elsewhere 503 as long as it refuses them."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Answer)
        self.refuses = True
        self.url = f"http://127.0.0.1:{self.server_port}"
        threading.Thread(target=self.serve_forever, daemon=True).start()


class Answer(BaseHTTPRequestHandler):
    """The answer to a webhook."""

    server: Receiver

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        self.send_response({"/lost": 410}.get(self.path, 503 if self.server.refuses else 200))
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *args: object) -> None:
        pass
