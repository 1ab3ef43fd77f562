"""Looks at the page at /docs in a real browser: look.py BROWSER SCENE URL FOLDER; FOLDER is the model's.

A scene raises where the page is not as it should be. Beside what it asks for, in each of them nothing may be asked of another
host, no error may be on the console but what it expects, and no exception may be left over.
"""

from __future__ import annotations

import base64
import json
import os
import pathlib
import re
import sys
import tempfile

from playwright.sync_api import Page, expect, sync_playwright

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
        self.page.locator("#code-box").evaluate("e => e.open = true")
        self.page.get_by_role("button", name=language, exact=True).click()
        return self.page.locator("#code").text_content() or ""

    def opens(self, gate: str = "open") -> None:
        (self.folder / gate).touch()


def form(look: Look) -> None:
    """The form is made of the schema, in its order; what is filled in arrives."""
    look.load()
    expect(look.page.locator("#health-text")).to_contain_text("READY")
    names = look.page.locator(".field").evaluate_all("all => all.map(e => e.querySelector('label').htmlFor)")
    assert names == ["in-" + n for n in ("prompt", "steps", "scale", "scheduler", "sure", "sizes", "token", "note")], names
    expect(look.page.get_by_text("What to <b>draw</b>")).to_be_visible()
    expect(look.page.get_by_label("Prompt")).to_be_visible()
    expect(look.input("steps")).to_have_value("20")
    expect(look.input("scale")).to_have_value("7.5")
    expect(look.input("scheduler")).to_have_value("0")
    expect(look.input("sizes")).to_have_value("[1,2]")
    expect(look.input("token")).to_have_attribute("type", "password")
    expect(look.input("note")).to_be_hidden()  # folded away: it is optional

    look.input("prompt").fill("a \"cat\" & it's <toy>")
    look.page.get_by_label("Steps").nth(1).fill("33")  # the slider
    expect(look.input("steps")).to_have_value("33")
    look.input("scheduler").select_option("Euler")
    look.input("sure").check()
    look.input("sizes").fill("[3]")
    look.page.get_by_text("Optional inputs").click()
    look.input("token").fill("12345")
    look.input("prompt").press("Control+Enter")
    look.ends("succeeded")
    answer = look.answer()
    want = {
        "prompt": "a \"cat\" & it's <toy>", "steps": 33, "scale": 7.5, "scheduler": "Euler", "sure": True, "sizes": [3],
        "token": 5, "note": None,
    }  # fmt: skip
    assert answer["output"] == want, answer
    assert "12345" not in json.dumps(answer), "the secret is in the answer"
    expect(look.page.locator("#logs")).to_have_text("drawing a \"cat\" & it's <toy>\n", use_inner_text=False)
    expect(look.page.locator("#metrics")).to_contain_text("tokens")
    expect(look.output).to_contain_text("scheduler: \"Euler\"")
    for language in ("curl", "Python", "JavaScript"):
        assert "/predictions" in look.code(language), language
    print(json.dumps({"curl": look.code("curl"), "python": look.code("Python"), "output": want}))
    look.page.get_by_role("button", name="Reset").click()
    expect(look.input("prompt")).to_have_value("")
    expect(look.input("steps")).to_have_value("20")


def errors(look: Look) -> None:
    """What the server refuses is shown at its input, and gone with the next run."""
    look.refusals = [422]
    look.load()
    look.input("steps").fill("77")
    look.input("sizes").fill("nonsense")
    look.run()
    expect(look.page.locator("#state")).to_contain_text("refused")
    expect(look.page.locator("#in-steps-error")).to_contain_text("maximum of 50")
    expect(look.page.locator("#in-sizes-error")).not_to_be_empty()
    expect(look.input("steps")).to_be_focused()
    look.input("prompt").fill("x")
    look.input("steps").fill("7")
    look.input("sizes").fill("[]")
    look.run()
    look.ends("succeeded")
    expect(look.page.locator("#in-steps-error")).to_be_empty()
    entries = look.page.locator("#history li")
    expect(entries).to_have_count(2)
    look.page.get_by_text("History of this visit").click()
    entries.nth(1).get_by_role("button").click()
    expect(look.page.locator("#state")).to_contain_text("refused")


def stream(look: Look) -> None:
    """Tokens are there before the end, joined to one text."""
    look.load()
    look.run()
    expect(look.output).to_have_text("word0 word1 ", use_inner_text=False)
    expect(look.page.locator("#state")).to_contain_text("2 items")
    look.opens()
    look.ends("succeeded")
    expect(look.output).to_have_text("word0 word1 word2 word3 word4 ", use_inner_text=False)
    look.input("n").fill("20000")
    look.run()
    look.ends("succeeded")
    assert (look.output.text_content() or "").endswith("word19998 word19999 ")


def items(look: Look) -> None:
    """Each item of a list that is yielded is shown for itself."""
    look.load()
    look.run()
    look.ends("succeeded")
    expect(look.output.locator("img")).to_have_count(2)


def stop(look: Look) -> None:
    """Stop and Escape cancel what runs, and the next prediction is served."""
    look.refusals = [404]  # a Stop may overtake the request
    look.load()
    look.run()
    look.page.get_by_role("button", name="Stop").click()  # at once
    look.ends("canceled")
    for press in (lambda: look.page.get_by_role("button", name="Stop").click(), lambda: look.page.keyboard.press("Escape")):
        look.run()
        expect(look.page.locator("#health-text")).to_contain_text("BUSY")
        press()
        look.ends("canceled")
        expect(look.page.get_by_role("button", name="Run")).to_be_enabled()
        expect(look.page.get_by_role("button", name="Stop")).to_be_disabled()
        expect(look.page.locator("#logs")).to_have_text("sleeping\n", use_inner_text=False)


def files(look: Look) -> None:
    """Files are chosen or dropped, sent, and shown where they come back."""
    look.load()
    with tempfile.TemporaryDirectory() as folder:
        picture = pathlib.Path(folder, "in.png")
        picture.write_bytes(PNG)
        look.page.get_by_label("Choose a file").nth(0).set_input_files(picture)
        texts = [pathlib.Path(folder, name) for name in ("a.txt", "b.txt")]
        for text in texts:
            text.write_text(text.stem)
        look.page.get_by_label("Choose a file").nth(1).set_input_files(texts)
        expect(look.page.locator(".drop img")).to_be_visible()
        expect(look.page.get_by_text("b.txt, 1 bytes")).to_be_visible()
        look.run()
        look.ends("succeeded")
    image = look.output.locator("img")
    expect(image).to_be_visible()
    assert image.evaluate("e => e.decode().then(() => e.naturalWidth)") == 2
    assert downloaded(look) == "a b"
    dropped = look.page.evaluate_handle(
        "() => { const all = new DataTransfer(); all.items.add(new File(['c'], 'c.txt', {type: 'text/plain'})); return all }"
    )
    look.page.locator(".drop").nth(1).dispatch_event("drop", {"dataTransfer": dropped})
    expect(look.page.get_by_text("c.txt, 1 bytes")).to_be_visible()
    look.run()
    expect(look.page.locator("#history li")).to_have_count(2)
    look.ends("succeeded")
    assert downloaded(look) == "c"


def downloaded(look: Look) -> str:
    """Return the text of the file that the output has a link for."""
    with look.page.expect_download() as download:
        look.output.get_by_role("link", name="Download").click()
    return pathlib.Path(download.value.path()).read_text()


def shapes(look: Look) -> None:
    """Tables, numbers and errors have their looks; markup of the model's is text."""
    look.load()

    def show(shape: str, status: str = "succeeded") -> None:
        look.input("shape").select_option(shape)
        look.run()
        look.ends(status)

    show("rows")
    expect(look.output.locator("th")).to_have_text(["name", "score"])
    expect(look.output.locator("tbody tr")).to_have_count(2)
    show("vector")
    expect(look.output.locator("svg path")).to_have_attribute("d", re.compile("^M0,"))
    show("markup")
    expect(look.output).to_contain_text("<script>alert(1)</script>")
    assert look.output.locator("img, script").count() == 0
    show("nothing")
    expect(look.output).to_be_empty()
    show("error", "failed")
    expect(look.output).to_contain_text("ValueError: no <such> shape")
    expect(look.page.locator("#logs")).to_contain_text("Traceback")
    assert look.page.title() != "broken in"


def late(look: Look) -> None:
    """A page that was opened during setup has its form as soon as there is one, and says how things stand."""
    look.refusals = [503]
    look.load()
    expect(look.page.locator("#health-text")).to_contain_text("STARTING")
    look.opens()
    look.input("text").fill("here at last")
    expect(look.page.locator("#health-text")).to_contain_text("READY")
    look.run()
    look.ends("succeeded")
    expect(look.output).to_have_text("here at last")


def unset(look: Look) -> None:
    """A setup that failed is told with its logs."""
    look.refusals = [503]
    look.load()
    expect(look.page.locator("#health-text")).to_contain_text("SETUP_FAILED")
    expect(look.page.locator("#logs")).to_contain_text("looking for the weights")


def token(look: Look) -> None:
    """Where the server wants a token the page asks for it, once, and again where it was wrong."""
    look.refusals = [401]
    look.load()
    ask = look.page.locator("#token-dialog")
    expect(ask).to_contain_text("wants a token")
    ask.locator("input").fill("another token")
    ask.get_by_role("button", name="Use it").click()
    expect(ask).to_contain_text("does not know that token")
    ask.locator("input").fill("the-token-of-the-page")
    ask.get_by_role("button", name="Use it").click()
    expect(look.input("prompt")).to_be_visible()
    look.input("prompt").fill("x")
    look.run()
    look.ends("succeeded")
    look.page.reload()
    expect(look.input("prompt")).to_be_visible()
    expect(ask).to_have_count(0)


def train(look: Look) -> None:
    """A model with a train function has a form for it, too."""
    look.load()
    look.page.get_by_label("Train").check()
    expect(look.input("epochs")).to_have_value("2")
    look.run()
    look.ends("succeeded")
    expect(look.output).to_have_text("trained 2")
    look.page.get_by_label("Predict").check()
    expect(look.input("text")).to_be_visible()


def narrow(look: Look) -> None:
    """On a telephone nothing stands out to the side, and every control has a name."""
    look.page.set_viewport_size({"width": 360, "height": 640})
    look.page.emulate_media(color_scheme="dark")
    look.load()
    look.input("prompt").fill("x" * 300)
    look.run()
    look.ends("succeeded")
    for name in ("Logs", "Time and metrics", "The answer as JSON", "The same request elsewhere"):
        look.page.locator("summary", has_text=name).click()
    width = look.page.evaluate("document.documentElement.scrollWidth")
    assert width <= 360, f"the page is {width} pixels wide"
    nameless = look.page.evaluate(
        "[...document.querySelectorAll('main input, main select, main textarea')]"
        ".filter(e => !e.labels?.length && !e.ariaLabel).map(e => e.outerHTML)"
    )
    assert not nameless, nameless


def main() -> None:
    browser, scene, url, folder = sys.argv[1:]
    arguments = ["--no-sandbox"] if os.geteuid() == 0 else []  # Chromium's sandbox refuses root
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=browser, args=[*arguments, "--disable-gpu", "--disable-dev-shm-usage"])
        page = chromium.new_page()
        page.set_default_timeout(30_000)
        expect.set_options(timeout=30_000)
        look = Look(page, url, folder)
        try:
            globals()[scene](look)
        except BaseException:
            print("the page says:", page.locator("body").inner_text()[:4000], file=sys.stderr)
            print(*look.faults, sep="\n", file=sys.stderr)
            raise
        chromium.close()
    assert not look.faults, "\n".join(look.faults)


if __name__ == "__main__":
    main()
