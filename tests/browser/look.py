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
        self.page.get_by_role("button", name=language, exact=True).click()
        return self.page.locator("#code").text_content() or ""

    def codes(self) -> dict[str, str]:
        return {name.lower(): self.code(name) for name in ("curl", "Python", "JavaScript")}

    def tell(self, output, files: dict[str, bytes] | None = None, environment: dict[str, str] | None = None) -> None:
        """Tell the test the code that the page shows, what it needs, and what the page got."""
        encoded = {name: base64.b64encode(content).decode() for name, content in (files or {}).items()}
        print(json.dumps({**self.codes(), "output": output, "files": encoded, "environment": environment or {}}))

    def in_sight(self, locator) -> bool:
        box, size = locator.bounding_box(), self.page.viewport_size
        return 0 <= box["y"] and box["y"] + box["height"] <= size["height"]

    def opens(self, gate: str = "open") -> None:
        (self.folder / gate).touch()


def form(look: Look) -> None:
    """The form is made of the schema, in its order; what is filled in arrives."""
    look.load()
    expect(look.page.locator("#health-text")).to_contain_text("READY")
    names = look.page.locator(".field").evaluate_all("all => all.map(e => e.querySelector('label').htmlFor)")
    assert names == ["in-" + n for n in ("prompt", "steps", "scale", "scheduler", "sure", "sizes", "token", "note")], names
    expect(look.page.get_by_text("What to <b>draw</b>")).to_be_visible()
    expect(look.page.get_by_label("prompt", exact=True)).to_be_visible()
    expect(look.input("steps")).to_have_value("20")
    expect(look.input("scale")).to_have_value("7.5")
    expect(look.input("scheduler")).to_have_value("0")
    expect(look.input("sizes")).to_have_value("[1,2]")
    expect(look.input("token")).to_have_attribute("type", "password")
    expect(look.input("note")).to_be_hidden()  # folded away: it is optional

    look.input("prompt").fill("a \"cat\" & it's <toy>")
    look.page.get_by_label("steps, slider").fill("33")
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
    expect(look.output).to_contain_text('scheduler: "Euler"')
    assert not any("12345" in code for code in look.codes().values()), "the secret is in the code"
    look.tell(output=want, environment={"TOKEN": "12345"})
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
    look.tell(output="word0 word1 word2 word3 word4 ")
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
    look.run()
    expect(look.page.locator("#logs")).to_have_text("sleeping\n", use_inner_text=False)  # while it runs
    expect(look.page.locator("#state")).to_contain_text("Running")
    look.page.get_by_role("button", name="Stop").click()
    look.ends("canceled")
    for press in (lambda: look.page.get_by_role("button", name="Stop").click(), lambda: look.page.keyboard.press("Escape")):
        look.run()
        expect(look.page.locator("#health-text")).to_contain_text("BUSY")
        press()
        look.ends("canceled")
        expect(look.page.get_by_role("button", name="Run")).to_be_enabled()
        expect(look.page.get_by_role("button", name="Stop")).to_be_disabled()
        expect(look.page.locator("#logs")).to_have_text("sleeping\n", use_inner_text=False)


def queue(look: Look) -> None:
    """Who waits is told the place in the queue."""
    look.refusals = [404]
    look.page.request.post(look.url + "/predictions", data={"id": "first", "input": {}}, headers={"Prefer": "respond-async"})
    look.load()
    look.run()
    expect(look.page.locator("#state")).to_contain_text("Waiting, place 1 in the queue")
    look.page.request.post(look.url + "/predictions/first/cancel")
    expect(look.page.locator("#state")).to_contain_text("Running")
    look.page.get_by_role("button", name="Stop").click()
    look.ends("canceled")


def files(look: Look) -> None:
    """Files are chosen or dropped, sent, and shown where they come back."""
    look.load()
    with tempfile.TemporaryDirectory() as folder:
        picture = pathlib.Path(folder, "in.png")
        picture.write_bytes(PNG)
        look.page.get_by_label("image: choose a file").set_input_files(picture)
        texts = [pathlib.Path(folder, name) for name in ("a.txt", "b.txt")]
        for text in texts:
            text.write_text(text.stem)
        look.page.get_by_label("others: choose a file").set_input_files(texts)
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
    look.page.get_by_role("button", name="others: remove").click()
    expect(look.page.get_by_text("c.txt, 1 bytes")).to_have_count(0)
    assert "c.txt" not in look.code("curl")


def downloaded(look: Look) -> str:
    """Return the text of the file that the output has a link for."""
    with look.page.expect_download() as download:
        look.output.get_by_role("link", name="Download output-2.txt").click()
    assert download.value.suggested_filename == "output-2.txt"
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
    expect(look.page.locator("#failure .message")).to_have_text("ValueError: no <such> shape")
    expect(look.page.locator("#failure .traceback")).to_be_visible()
    expect(look.page.locator("#failure .traceback")).to_contain_text("page.py", use_inner_text=True)
    expect(look.page.locator("#failure .traceback")).not_to_contain_text("noise before it")
    expect(look.page.locator("#logs")).to_contain_text("noise before it")
    expect(look.page.locator("#logs")).to_contain_text("Traceback")
    assert look.page.title() != "broken in"


def late(look: Look) -> None:
    """A page that was opened during setup has its form as soon as there is one, and says how things stand."""
    look.load()
    expect(look.page.locator("#health-text")).to_contain_text("STARTING")
    expect(look.page.get_by_role("heading", level=1)).to_have_text(look.folder.name, use_inner_text=True)
    expect(look.page.locator("#fields")).to_contain_text("being set up")
    look.opens()
    look.input("text").fill("here at last")
    expect(look.page.locator("#health-text")).to_contain_text("READY")
    look.run()
    look.ends("succeeded")
    expect(look.output).to_have_text("here at last")


def unset(look: Look) -> None:
    """A setup that failed is told with its traceback and its logs."""
    look.load()
    expect(look.page.locator("#health-text")).to_contain_text("SETUP_FAILED")
    expect(look.page.locator("#state")).to_have_text("The model's setup failed")
    expect(look.page.locator("#failure .message")).to_have_text("RuntimeError: no weights here")
    expect(look.page.locator("#failure .traceback")).to_be_visible()
    expect(look.page.locator("#failure .traceback")).to_contain_text("in setup")
    expect(look.page.locator("#fields")).to_contain_text("could not be set up")
    expect(look.page.get_by_role("button", name="Run")).to_have_count(0)
    expect(look.page.locator("#logs")).to_contain_text("looking for the weights")


def token(look: Look) -> None:
    """Where the server wants a token the page asks for it, once, and again where it was wrong."""
    look.refusals = [401]
    look.load()
    ask = look.page.locator("#token-dialog")
    ask.get_by_role("button", name="Cancel").click()
    expect(ask).to_have_count(0)
    look.page.get_by_role("button", name="Give a token").click()
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
    assert not any("the-token" in code for code in look.codes().values()), "the token is in the code"
    look.tell(look.answer()["output"], environment={"PINION_TOKEN": "the-token-of-the-page"})
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
    for name in ("Logs", "Time and metrics", "The answer as JSON", "History of this visit"):
        look.page.locator("summary", has_text=name).click()
    width = look.page.evaluate("document.documentElement.scrollWidth")
    assert width <= 360, f"the page is {width} pixels wide"
    nameless = look.page.evaluate(
        "[...document.querySelectorAll('main input, main select, main textarea')]"
        ".filter(e => !e.labels?.length && !e.ariaLabel).map(e => e.outerHTML)"
    )
    assert not nameless, nameless


    look.page.evaluate("scrollTo(0, 0)")
    look.run()
    look.ends("succeeded")
    look.page.wait_for_function("() => { const b = document.querySelector('#state').getBoundingClientRect(); return b.top >= 0 && b.bottom <= innerHeight / 3 }")


def beside(look: Look) -> None:
    """On a wide screen the code is in sight from the start, and the result wherever in a long form Run is pressed."""
    look.load()
    assert look.in_sight(look.page.locator("#code")), "the code is out of sight"
    look.input("o").scroll_into_view_if_needed()
    look.page.evaluate("scrollTo(0, document.documentElement.scrollHeight)")
    button = look.page.get_by_role("button", name="Run")
    assert look.in_sight(button)
    button.focus()
    look.page.keyboard.press("Enter")
    look.ends("succeeded")
    assert look.in_sight(look.page.locator("#state")), "the result is out of sight"
    expect(button).to_be_focused()
    assert look.page.evaluate("scrollY") > 0, "the page does not scroll: the form is too short for this"
    look.input("a").scroll_into_view_if_needed()
    look.page.evaluate("scrollTo(0, 0)")
    assert look.in_sight(button), "Run is out of sight at the top of a long form"


def media(look: Look) -> None:
    """Files anywhere in the output are shown as what they are, and can be kept under a name."""
    look.load()
    expect(look.page.get_by_role("heading", level=1)).to_have_text(look.folder.name, use_inner_text=True)
    expect(look.page.locator("#about")).to_have_text("Shows what it has.\n\nIn a second paragraph: <i>no markup</i>.", use_inner_text=True)
    look.run()
    look.ends("succeeded")
    pictures = look.output.locator("img")
    expect(pictures).to_have_count(4)
    for i in range(4):
        expect(pictures.nth(i)).to_be_visible()
        assert pictures.nth(i).evaluate("e => e.decode().then(() => e.naturalWidth)") == 2
    expect(look.output.locator("audio[controls]")).to_be_visible()
    assert look.output.locator("audio").evaluate(
        "e => new Promise(done => { e.readyState ? done(e.duration) : e.addEventListener('loadedmetadata', () => done(e.duration)) })"
    ) == 0.1
    expect(look.output.locator("video[controls]")).to_be_visible()
    expect(look.output).to_contain_text("naïve <b>notes</b>")
    expect(look.output).to_contain_text('{"a": [1, 2]}')
    expect(look.output).to_contain_text("<script>document.title = 'broken in'</script>")
    assert look.page.title() == look.folder.name
    names = look.output.get_by_role("link").evaluate_all("all => all.map(e => e.download)")
    assert names == [
        "output-pictures-1.png", "output-pictures-2.png", "output-deep-mask.png", "output-deep-rows-1-crop.png", "output-sound.wav",
        "output-film.webm", "output-texts-1.txt", "output-texts-2.json", "output-texts-3.html", "output-weights.bin",
    ], names  # fmt: skip
    with look.page.expect_download() as download:
        look.output.get_by_role("link", name="output-weights.bin").click()
    assert download.value.suggested_filename == "output-weights.bin"
    assert pathlib.Path(download.value.path()).read_bytes() == b"\x00\x01"


def labels(look: Look) -> None:
    """Every input is labelled by its name, as the API and the code have it."""
    look.load()
    look.page.get_by_text("Optional inputs").click()
    expect(look.input("note")).to_be_visible()
    for name in ("prompt", "steps", "scale", "scheduler", "sure", "sizes", "token", "note"):
        expect(look.page.locator(f"label[for=in-{name}]")).to_have_text(name)


def kept(look: Look) -> None:
    """A reload leaves the inputs as they are, but for secrets."""
    look.load()
    look.input("prompt").fill("a cat")
    look.input("steps").fill("33")
    look.input("scheduler").select_option("Euler")
    look.input("sure").check()
    look.input("sizes").fill("[3]")
    look.page.get_by_text("Optional inputs").click()
    look.input("note").fill("for later")
    look.input("token").fill("12345")
    look.page.reload()
    expect(look.input("prompt")).to_have_value("a cat")
    expect(look.input("steps")).to_have_value("33")
    expect(look.page.get_by_label("steps, slider")).to_have_value("33")
    expect(look.input("scheduler")).to_have_value("1")
    expect(look.input("sure")).to_be_checked()
    expect(look.input("sizes")).to_have_value("[3]")
    expect(look.input("note")).to_have_value("for later")
    expect(look.input("note")).to_be_visible()
    expect(look.input("token")).to_have_value("")
    assert "12345" not in look.page.evaluate("JSON.stringify([sessionStorage, localStorage])")
    look.run()
    look.ends("succeeded")
    assert look.answer()["output"]["note"] == "for later"
    look.page.get_by_role("button", name="Reset").click()
    look.page.reload()
    expect(look.input("prompt")).to_have_value("")


def kept_files(look: Look) -> None:
    """A reload keeps small files, forgets large ones, and the page works on."""
    look.load()
    with tempfile.TemporaryDirectory() as folder:
        picture, large = pathlib.Path(folder, "in.png"), pathlib.Path(folder, "large.txt")
        picture.write_bytes(PNG)
        large.write_text("x" * 6_000_000)
        look.page.get_by_label("image: choose a file").set_input_files(picture)
        look.page.get_by_label("others: choose a file").set_input_files(large)
        expect(look.page.get_by_text("large.txt, 6.0 MB")).to_be_visible()
        look.page.reload()
    expect(look.page.get_by_text(f"in.png, {len(PNG)} bytes")).to_be_visible()
    assert look.page.get_by_text("large.txt").count() == 0
    look.run()
    look.ends("succeeded")
    assert look.output.locator("img").evaluate("e => e.decode().then(() => e.naturalWidth)") == 2


def mixed(look: Look) -> None:
    """The code for a request with files reads them, and gets what the page gets."""
    look.load()
    files = {'it\'s "odd".png': PNG, "b c.txt": b"b", "$d.txt": b"d"}
    with tempfile.TemporaryDirectory() as folder:
        for name, content in files.items():
            pathlib.Path(folder, name).write_bytes(content)
        first, *others = [pathlib.Path(folder, name) for name in files]
        look.page.get_by_label("image: choose a file").set_input_files(first)
        look.page.get_by_label("others: choose a file").set_input_files(others)
        expect(look.page.get_by_text("$d.txt, 1 bytes")).to_be_visible()
    look.page.get_by_text("Optional inputs").click()
    look.input("token").fill("it's $TOKEN")
    look.run()
    look.ends("succeeded")
    output = look.answer()["output"]
    assert output["others"] == ["b", "d"] and output["image"] == list(PNG) and output["token"] == 11, output
    look.tell(output, files, {"TOKEN": "it's $TOKEN"})


def awkward(look: Look) -> None:
    """Names that are a request's keys and large integers are sent, shown and written into the code as they are."""
    look.load()
    with tempfile.TemporaryDirectory() as folder:
        file = pathlib.Path(folder, "in put.bin")
        file.write_bytes(b"\x00\xff")
        look.page.get_by_label("input: choose a file").set_input_files(file)
        expect(look.page.get_by_text("in put.bin, 2 bytes")).to_be_visible()
    look.run()
    look.ends("succeeded")
    output = look.answer()["output"]
    assert output["bytes"] == [0, 255], output
    look.tell(output, {"in put.bin": b"\x00\xff"})
    look.input("seed").fill("18446744073709551615")
    look.run()
    expect(look.output).to_contain_text("seed: 18446744073709551615")
    assert look.answer()["output"]["seed"] == 18446744073709551615
    assert all("18446744073709551615" in code for code in look.codes().values())
    look.page.reload()
    expect(look.input("seed")).to_have_value("18446744073709551615")


def example(look: Look) -> None:
    """The model's own example fills the form in, its files too; the code works once they are saved."""
    look.load()
    look.page.get_by_role("button", name="Example").click()
    expect(look.input("prompt")).to_have_value("a red fox")
    expect(look.input("steps")).to_have_value("7")
    expect(look.page.get_by_text("image.txt, ")).to_be_visible()
    with look.page.expect_download() as download:
        look.page.get_by_role("link", name="Save").click()
    assert download.value.suggested_filename == "image.txt"
    content = pathlib.Path(download.value.path()).read_bytes()
    look.run()
    look.ends("succeeded")
    output = look.answer()["output"]
    assert output == "a red fox, 7: " + content.decode(), output
    look.tell(output, {"image.txt": content})


def examples(look: Look) -> None:
    """The examples of a document that comes with the model fill the form in."""
    look.load()
    look.page.get_by_role("button", name="Example").click()
    expect(look.input("prompt")).to_have_value("a red fox")
    expect(look.input("steps")).to_have_value("7")
    expect(look.page.locator("#code")).to_contain_text("a red fox")
    look.page.get_by_role("button", name="At night").click()
    expect(look.input("prompt")).to_have_value("a black fox")


# Returns what has less contrast than WCAG 2.1 AA asks for: text by 1.4.3, the edges of inputs by 1.4.11.
CONTRAST = """() => {
    const channels = (color) => color.match(/[\\d.]+/g).map(Number);
    const light = (c) => c.slice(0, 3).map((v) => v / 255)
        .map((v) => v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4)
        .reduce((sum, v, i) => sum + v * [0.2126, 0.7152, 0.0722][i], 0);
    const ratio = (a, b) => { const [x, y] = [light(a), light(b)].sort((p, q) => q - p); return (x + 0.05) / (y + 0.05) };
    const behind = (e) => {
        for (; e; e = e.parentElement) {
            const c = channels(getComputedStyle(e).backgroundColor);
            if (c.length < 4 || c[3] > 0) return c;
        }
        return [255, 255, 255];
    };
    const faults = [];
    let looked = 0;
    for (const e of document.querySelectorAll("body *")) {
        if (!e.checkVisibility() || e.closest("[aria-disabled=true], .unseen, .skip, noscript, option, svg")) continue;
        const style = getComputedStyle(e);
        const says = [...e.childNodes].some((n) => n.nodeType === 3 && n.textContent.trim());
        if (says || e.matches("input, textarea, select")) {
            looked++;
            const found = ratio(channels(style.color), behind(e));
            if (found < 4.5) faults.push(`${e.outerHTML.slice(0, 120)}: ${found.toFixed(2)}`);
        }
        if (e.placeholder && ratio(channels(getComputedStyle(e, "::placeholder").color), behind(e)) < 4.5) faults.push(`placeholder of ${e.id}`);
        if (e.matches("input:not([type=checkbox], [type=radio], [type=range], [type=file]), textarea, select, button.plain")) {
            if (e.closest("#history")) continue;
            const found = ratio(channels(style.borderTopColor), behind(e.parentElement));
            if (found < 3) faults.push(`edge of ${e.id || e.outerHTML.slice(0, 80)}: ${found.toFixed(2)}`);
        }
    }
    return { faults, looked };
}"""


def contrast(look: Look) -> None:
    """Text and edges have the contrast of WCAG AA, light and dark, whatever is shown."""
    look.refusals = [422]
    for scheme in ("light", "dark"):
        look.page.emulate_media(color_scheme=scheme)
        look.load()
        for status, prompt in (("refused", None), ("succeeded", "a cat"), ("failed", "fail")):
            if prompt is None:
                look.input("steps").fill("77")
            else:
                look.input("prompt").fill(prompt)
                look.input("steps").fill("7")
            look.run()
            look.ends(status)
            look.page.evaluate("document.querySelectorAll('details').forEach((e) => (e.open = true))")
            found = look.page.evaluate(CONTRAST)
            assert not found["faults"], f"{scheme}, {status}: " + "\n".join(found["faults"])
            assert found["looked"] > 40, found
        look.page.get_by_role("button", name="Reset").click()


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
