"""The page at /docs in a browser, for the scenes beside this file."""

from __future__ import annotations

import base64
import json
import pathlib
import re

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
        page.on("pageerror", lambda error: self.faults.append(f"exception: {error}"))
        page.on("console", self._said)
        page.on("request", self._asked)

    def _said(self, message) -> None:
        if message.type not in ("error", "warning"):
            return
        status = re.search(r"responded with a status of (\d+)", message.text)
        if status and status[1] == "404" and "/predictions/page-" in message.location["url"]:
            return  # the page asks for the state of its request, or cancels it, before the server has it
        if not status or int(status[1]) not in self.refusals:
            self.faults.append(f"{message.type} on the console: {message.text}")

    def _asked(self, request) -> None:
        if not request.url.startswith((self.url + "/", "data:", "blob:")):
            self.faults.append(f"asks elsewhere: {request.url}")

    def load(self) -> None:
        response = self.page.goto(self.url + "/docs")
        assert response and response.status == 200, response

    def input(self, name: str):
        return self.page.locator("#in-" + name)

    def run(self) -> None:
        self.page.get_by_role("button", name="Run").click()

    def ends(self, status: str) -> None:
        expect(self.page.locator("#state")).to_contain_text(f"{status} in")

    @property
    def output(self):
        return self.page.locator("#output")

    def answer(self):
        """Return the answer as the page shows it."""
        return json.loads(self.page.locator("#json").text_content() or "")

    def code(self, language: str) -> str:
        self.page.get_by_role("button", name=language, exact=True).click()
        return self.page.locator("#code").text_content() or ""

    def codes(self) -> dict[str, str]:
        return {name.lower(): self.code(name) for name in ("curl", "Python", "JavaScript")}

    def report(self, output, files: dict[str, bytes] | None = None, environment: dict[str, str] | None = None) -> None:
        """Tell the test the code that the page shows, what it needs, and what the page got."""
        encoded = {name: base64.b64encode(content).decode() for name, content in (files or {}).items()}
        print(json.dumps({**self.codes(), "output": output, "files": encoded, "environment": environment or {}}))

    def in_sight(self, locator) -> bool:
        box, size = locator.bounding_box(), self.page.viewport_size
        return 0 <= box["y"] and box["y"] + box["height"] <= size["height"]

    def opens(self, gate: str = "open") -> None:
        (self.folder / gate).touch()
