"""Scenes about trying a model: conversations, examples, history, links, editors, devices, pictures."""

from __future__ import annotations

import base64
import json
import pathlib
import re
import struct
import tempfile
import zipfile
import zlib

from page import PNG, Look
from playwright.sync_api import expect


def talk(look: Look) -> None:
    """A conversation goes on, is stopped, answered again, and fails without losing what was written."""
    look.load()
    message = look.page.get_by_label("Message", exact=True)
    bubbles = look.page.locator(".bubble")
    message.fill("first")
    message.press("Enter")
    look.ends("succeeded")
    answer = bubbles.nth(1)
    expect(answer.locator("strong")).to_have_text("bold")
    expect(answer.locator("li")).to_have_text(["one", "two"])
    expect(answer.locator("pre")).to_have_text("x = '<b>'\n", use_inner_text=False)
    expect(answer.locator("td")).to_have_text(["1", "2"])
    expect(answer.locator("a")).to_have_attribute("href", "https://example.com/")
    expect(answer).to_contain_text("<img src=x>")
    assert answer.locator("img, script, [href^=javascript]").count() == 0
    expect(answer).to_contain_text("a second")
    message.fill("wait")
    look.page.get_by_role("button", name="Send").click()
    expect(bubbles.nth(3)).to_contain_text("2 messages before")
    for name in ("Send", "New conversation"):
        expect(look.page.get_by_role("button", name=name)).to_be_hidden()
    message.fill("next")
    look.page.locator("#halt").click()
    look.ends("canceled")
    expect(bubbles).to_have_count(4)
    expect(bubbles.nth(2)).to_contain_text("wait")
    expect(message).to_have_value("next")
    expect(bubbles.nth(3)).to_contain_text("stopped")
    message.fill("fail")
    message.press("Enter")
    look.ends("failed")
    expect(look.page.locator(".bubble.problem")).to_contain_text("told to")
    expect(message).to_have_value("fail")
    look.page.reload()
    expect(bubbles).to_have_count(4)
    look.page.get_by_role("button", name="Answer again").click()
    expect(bubbles.nth(3)).to_contain_text("2 messages before")
    look.page.keyboard.press("Escape")
    look.ends("canceled")
    look.page.get_by_label("System prompt").fill("be brief")
    assert '"role": "system"' in look.code("Python")
    look.tab("Chat")
    look.page.get_by_role("button", name="New conversation").click()
    expect(bubbles).to_have_count(0)
    expect(look.page.get_by_role("button", name="New conversation")).to_be_hidden()
    expect(look.page.locator("#state")).to_be_empty()
    look.tab("Output")
    expect(look.page.locator("#nothing")).to_be_visible()


def talk_left(look: Look) -> None:
    """An answer that ends while the form is the trainings' is kept in the history."""
    look.load()
    look.page.get_by_label("Message", exact=True).fill("wait")
    look.page.get_by_role("button", name="Send").click()
    expect(look.page.locator(".bubble").nth(1)).to_contain_text("0 messages before")
    look.page.get_by_label("Train").check()
    look.page.get_by_role("button", name="Stop").click()
    look.ends("canceled")
    look.tab("History")
    expect(look.page.locator("#history .chip")).to_have_text("canceled")


def talk_narrow(look: Look) -> None:
    """On a telephone the message stays in view, and covers nothing that has the focus."""
    look.page.set_viewport_size({"width": 390, "height": 600})
    look.load()
    message = look.page.get_by_label("Message", exact=True)
    for i in range(2):
        message.fill("first")
        message.press("Enter")
        expect(look.page.locator(".bubble.assistant .help").last).to_contain_text("a second")
        expect(look.page.locator(".bubble")).to_have_count(2 * i + 2)
    send = look.page.get_by_role("button", name="Send")
    assert look.in_sight(send)
    assert look.page.evaluate("document.querySelector('main').firstElementChild.id") == "side", "the form comes before the conversation"
    look.page.locator("#talk").focus()
    for _ in range(12):
        covered = look.page.evaluate(COVERED)
        assert not covered, f"the message covers what has the focus: {covered}"
        look.page.keyboard.press("Tab")
    expect(look.page.locator("#talk")).not_to_be_focused()


COVERED = """() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => {
    const bar = document.querySelector("#composer"), has = document.activeElement;
    if (bar.contains(has) || !has.closest("#chat")) return done("");
    const [edge, box] = [bar.getBoundingClientRect(), has.getBoundingClientRect()];
    done(box.bottom > edge.top ? has.outerHTML.slice(0, 100) : "");
})))"""


def iterator(look: Look) -> None:
    """An iterator without @streaming is shown as it comes, too."""
    look.load()
    look.run()
    expect(look.output).to_have_text("word0 word1 ", use_inner_text=False)
    look.opens()
    look.ends("succeeded")
    look.report(output="word0 word1 word2 ")


def progress(look: Look) -> None:
    """A bar of tqdm is a bar of the page, and one line of the logs."""
    look.load()
    look.run()
    bar = look.page.get_by_role("progressbar", name="Progress")
    expect(bar).to_have_attribute("value", "45")
    expect(look.page.locator("#doing-text")).to_contain_text("draw: 45%|")
    expect(look.page.locator("#logs")).to_have_text("begin\ndraw: 45%|####", use_inner_text=False)
    look.opens()
    look.ends("succeeded")
    expect(bar).to_be_hidden()


def recorded(look: Look) -> None:
    """The metric progress is a bar, and on a phone the button that stops the run stays in sight.

    Beside a changed input stands its default.
    """
    look.page.set_viewport_size({"width": 390, "height": 844})
    look.load()
    look.input("steps").fill("3")
    expect(look.page.locator("[data-name=steps] .changed")).to_have_text(", default 2")
    look.run()
    expect(look.page.get_by_role("progressbar", name="Progress")).to_have_attribute("value", "40")
    expect(look.page.locator("#doing-text")).to_have_text("40 %")
    expect(look.page.locator("#stop")).to_be_in_viewport(ratio=1)
    look.opens()
    look.ends("succeeded")


def history(look: Look) -> None:
    """What has run outlives a reload, without secrets and files; it can be opened again and cleared."""
    look.load()
    look.page.get_by_label("image: choose a file").set_input_files({"name": "in.png", "mimeType": "image/png", "buffer": PNG})
    look.input("prompt").fill("a cat")
    look.page.get_by_text("Optional inputs").click()
    look.input("token").fill("sesame")
    look.runs()
    expect(look.output.locator("img")).to_be_visible()
    look.tab("History")
    expect(look.page.locator("#history li")).to_have_count(1)
    expect(look.page.locator("#history li")).to_contain_text("in.png")
    expect(look.page.locator("#history li button img")).to_be_visible()
    expect(look.page.locator("#history li")).not_to_contain_text("sesame")
    with look.page.expect_download() as download:
        look.page.get_by_role("button", name="Save as an example").click()
    saved = json.loads(pathlib.Path(download.value.path()).read_text())
    assert "token" not in saved["input"] and saved["input"]["image"].startswith("data:image/png"), saved
    kept = look.page.evaluate(ALL_KEPT)
    assert "a cat" in kept and "sesame" not in kept and "base64" not in kept and "in.png" not in kept, kept
    look.page.reload()
    look.tab("History")
    row = look.page.locator("#history li")
    expect(row).to_have_count(1)
    look.page.set_viewport_size({"width": 390, "height": 844})
    assert row.get_by_role("button").bounding_box()["height"] < 40, "the inputs wrap letter by letter"
    look.input("prompt").fill("a dog")
    row.get_by_role("button").click()
    expect(look.input("prompt")).to_have_value("a cat")
    expect(look.page.locator("#state")).to_contain_text("before a reload")
    expect(look.page.locator("#logs")).to_contain_text("drawing")
    look.tab("History")
    look.page.get_by_role("button", name="Clear").click()
    expect(look.page.locator("#history")).to_contain_text("Nothing yet")
    look.page.reload()
    look.tab("History")
    expect(look.page.locator("#history")).to_contain_text("Nothing yet")


ALL_KEPT = """() => new Promise((done) => {
    indexedDB.open("pinion").onsuccess = (e) => {
        e.target.result.transaction("runs").objectStore("runs").getAll().onsuccess = (all) => done(JSON.stringify([all.target.result, {...localStorage}]));
    };
})"""


def shared(look: Look) -> None:
    """A link brings the inputs, without secrets and files; a link of a stranger breaks nothing and runs nothing."""
    look.load()
    look.page.get_by_label("image: choose a file").set_input_files({"name": "in.png", "mimeType": "image/png", "buffer": PNG})
    look.input("prompt").fill("naïve 猫 & <b>")
    look.page.get_by_text("Optional inputs").click()
    look.input("token").fill("sesame")
    look.page.get_by_role("button", name="Share").click()
    expect(look.page.locator("#share")).not_to_have_text("Share")
    link = look.page.url
    fragment = link.split("#")[1]
    text = base64.urlsafe_b64decode(fragment + "=" * (-len(fragment) % 4)).decode()
    assert "sesame" not in text and "base64" not in text, text
    look.page.evaluate("sessionStorage.clear()")
    look.page.goto("about:blank")
    look.page.goto(link)
    expect(look.input("prompt")).to_have_value("naïve 猫 & <b>")
    assert "#" not in look.page.url
    for hostile in ({"prompt": "{}", "image": "[[1]]", "token": '"x"', "__proto__": "1", "nothing": "1"}, {"prompt": "nonsense"}, None, 7):
        fragment = base64.urlsafe_b64encode(json.dumps({"input": hostile}).encode()).decode().rstrip("=")
        look.page.goto("about:blank")
        look.page.goto(f"{look.url}/docs#{fragment}")
        expect(look.input("prompt")).to_be_visible()
        expect(look.page.locator("#state")).to_be_empty()
    expect(look.input("token")).to_have_value("")
    look.input("prompt").fill("x" * 300_000)
    look.page.get_by_role("button", name="Share").click()
    expect(look.page.locator("#share")).to_have_text("Too long for a link")


def rows(look: Look) -> None:
    """Lists and dicts are edited by rows or as JSON; Optional[bool] has three states; an optional file stands in its place."""
    look.load()
    expect(look.page.locator(".field")).to_have_count(7)
    names = look.page.locator("#fields .field").evaluate_all("all => all.map(e => e.dataset.name)")
    assert names == ["words", "mask", "sizes", "table", "counts", "on"], names
    look.page.get_by_text("Optional inputs").click()
    look.page.get_by_role("button", name="words: add a row").click()
    look.page.keyboard.type("a \"b\"")
    look.page.get_by_role("button", name="sizes: remove row 1").click()
    look.page.get_by_role("button", name="table: add a row").click()
    look.page.get_by_label("table 2, key").fill("k")
    look.page.get_by_label("table 2, value").fill("[1]")
    look.page.get_by_role("button", name="counts: add a row").click()
    look.page.get_by_label("counts 1, key").fill("n")
    look.page.get_by_label("counts 1, value").fill("5")
    look.input("on").select_option("null")
    look.runs()
    want = {"words": ['a "b"'], "sizes": [2], "table": {"a": 1, "k": [1]}, "counts": {"n": 5}, "sure": None, "on": None, "mask": False}
    assert look.answer()["output"] == want, look.answer()
    look.edit("table", '{"deep": {"x": [1]}, "text": "5"}')
    look.page.get_by_role("button", name="table as JSON").click()
    expect(look.page.get_by_label("table 2, value")).to_have_value('"5"')
    look.input("sure").select_option("false")
    look.runs()
    output = look.answer()["output"]
    assert output["table"] == {"deep": {"x": [1]}, "text": "5"} and output["sure"] is False, output


def devices(look: Look) -> None:
    """The camera gives a picture, the microphone a WAV file, and both are off afterwards."""
    look.load()
    look.page.get_by_role("button", name="image: camera").click()
    look.page.get_by_role("button", name="Take the picture").click()
    expect(look.page.locator(".drop img")).to_be_visible()
    assert look.page.get_by_role("button", name="image: microphone").count() == 0
    look.page.get_by_role("button", name="voice: microphone").click()
    expect(look.page.get_by_text(re.compile("Recording, [1-9]"))).to_be_visible()
    look.page.get_by_role("button", name="Stop and use").click()
    expect(look.page.locator(".drop audio")).to_be_visible()
    look.runs()
    output = look.answer()["output"]
    assert output["image"] == "jpeg" and output["channels"] == 1 and output["frames"] > 1000, output
    look.page.get_by_role("button", name="image: camera").click()
    expect(look.page.locator("dialog video")).to_be_visible()
    look.page.keyboard.press("Escape")
    expect(look.page.locator("dialog")).to_have_count(0)
    expect(look.page.get_by_role("button", name="image: camera")).to_be_focused()
    look.page.evaluate("() => { AudioContext.prototype.decodeAudioData = () => Promise.reject(new Error('This is no sound.')) }")
    look.page.get_by_role("button", name="voice: microphone").click()
    look.page.get_by_role("button", name="Stop and use").click()
    expect(look.page.get_by_role("alert")).to_have_text("This is no sound.")
    look.page.keyboard.press("Escape")
    expect(look.page.locator("dialog")).to_have_count(0)


def archive(look: Look) -> None:
    """Several files are one ZIP, which every program reads."""
    look.load()
    look.runs()
    with look.page.expect_download() as download:
        look.page.get_by_role("button", name="Download all as ZIP").click()
    with zipfile.ZipFile(download.value.path()) as files:
        assert files.testzip() is None
        names = files.namelist()
        assert "output-pictures-1.png" in names and "output-weights.bin" in names and len(names) == 11, names
        assert files.read("output-pictures-1.png") == PNG


def picture(w: int, h: int) -> bytes:
    """Return a grey PNG."""

    def chunk(kind: bytes, content: bytes) -> bytes:
        return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))

    rows = zlib.compress((b"\0" + b"\x80" * w) * h)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", w, h, 8, 0, 0, 0, 0)) + chunk(b"IDAT", rows) + chunk(b"IEND", b"")


def whole(look: Look) -> None:
    """A picture of any shape is in sight whole; a click enlarges, keys and Escape work."""
    look.load()
    for width, height in ((1440, 900), (1920, 1080), (390, 844)):
        look.page.set_viewport_size({"width": width, "height": height})
        for w, h in ((2048, 2048), (600, 2400), (2400, 600)):
            look.page.get_by_label("image: choose a file").set_input_files({"name": "in.png", "mimeType": "image/png", "buffer": picture(w, h)})
            expect(look.page.locator(".drop img")).to_be_visible()
            look.runs()
            image = look.output.locator("img").first
            assert image.evaluate("e => e.decode().then(() => e.naturalWidth)") == w
            if width == 390:
                image.scroll_into_view_if_needed()
            look.page.wait_for_timeout(400)  # the page may scroll smoothly to the result
            box, panel = image.bounding_box(), look.page.locator("#side").bounding_box()
            assert look.in_sight(image), f"{w} by {h} at {width}: {box}"
            assert width == 390 or box["y"] + box["height"] <= panel["y"] + panel["height"], f"{w} by {h} at {width} is cut"
            assert abs(box["width"] / box["height"] - w / h) < 0.05 * w / h or box["width"] < 60, f"{w} by {h} at {width} is distorted: {box}"
    look.output.get_by_role("button", name="Enlarge output-1.png").click()
    dialog = look.page.get_by_role("dialog", name="Picture")
    expect(dialog).to_contain_text("output-1.png, 2400 × 600, 1 of 2")
    look.page.keyboard.press("ArrowRight")
    expect(dialog).to_contain_text("2 of 2")
    look.page.keyboard.press("Escape")
    expect(dialog).to_have_count(0)
    expect(look.output.get_by_role("button", name="Enlarge output-1.png")).to_be_focused()


def film(look: Look) -> None:
    """The controls of a video and of a sound are in sight, without scrolling on a wide screen."""
    look.load()
    for width, height in ((1440, 900), (1920, 1080), (390, 844)):
        look.page.set_viewport_size({"width": width, "height": height})
        for sound in (False, True):
            look.input("sound").set_checked(sound)
            look.runs()
            player = look.output.locator("audio[controls]" if sound else "video[controls]")
            expect(player).to_be_visible()
            player.evaluate("e => e.readyState || new Promise((done) => (e.onloadedmetadata = done))")
            if width == 390:
                player.scroll_into_view_if_needed()
            look.page.wait_for_timeout(400)  # the page may scroll smoothly to the result
            assert look.in_sight(player), f"at {width}: {player.bounding_box()}"


def told(look: Look) -> None:
    """The model's README, logo and kept examples are shown, as text and pictures, never as HTML."""
    look.load("/docs")
    expect(look.page.locator("#logo")).to_be_visible()
    assert look.page.locator("#logo").evaluate("e => e.decode().then(() => e.naturalWidth)") > 0
    look.page.get_by_role("button", name="README").click()
    dialog = look.page.get_by_role("dialog", name="README")
    expect(dialog.get_by_role("heading", name="The model")).to_be_visible()
    expect(dialog).to_contain_text("<script>alert(1)</script>")
    look.page.keyboard.press("Escape")
    expect(dialog).to_have_count(0)
    cards = look.page.locator("#gallery button")
    expect(cards).to_have_text([re.compile("a fox"), re.compile("once <b>upon</b>.*words")])
    expect(cards.first.locator("img")).to_be_visible()
    cards.first.click()
    expect(look.input("prompt")).to_have_value("a fox")
    expect(look.output.locator("img")).to_be_visible()
    expect(look.page.locator("#state")).to_contain_text("an example kept with the model")
    expect(look.page.locator("#times")).to_be_hidden()
    look.runs()
    with tempfile.TemporaryDirectory() as folder, look.page.expect_download() as download:
        look.tab("History")
        look.page.get_by_role("button", name="Save as an example").click()
        file = pathlib.Path(folder, "saved.json")
        download.value.save_as(file)
        saved = json.loads(file.read_text())
    assert saved["input"]["prompt"] == "a fox" and saved["output"], saved
    (look.folder / "cog_examples" / "saved one.json").write_text(json.dumps(saved))
    look.page.reload()
    look.page.get_by_role("button", name="saved one").first.click()
    expect(look.input("prompt")).to_have_value("a fox")
    look.page.route("**/docs/about", lambda route: route.fulfill(body="<html>"))  # as a proxy may answer
    look.page.reload()
    expect(look.input("prompt")).to_be_visible()


def led(look: Look) -> None:
    """Browsers that open the server's address, or /docs/, come to the page."""
    for path in ("/", "/docs/", "/docs"):
        look.page.goto(look.url + path)
        assert look.page.url == look.url + "/docs", look.page.url
        expect(look.input("prompt")).to_be_visible()


def keys(look: Look) -> None:
    """The keyboard alone fills in, runs, reads each tab and opens what has run."""
    look.load()
    expect(look.input("prompt")).to_be_visible()
    look.input("prompt").focus()
    look.page.keyboard.type("by keys")
    look.page.keyboard.press("Control+Enter")
    look.ends("succeeded")
    look.page.get_by_role("tab", name="Output").focus()
    for key, name in (("ArrowRight", "Code"), ("ArrowRight", "JSON"), ("End", "History"), ("Home", "Output"), ("ArrowLeft", "History")):
        look.page.keyboard.press(key)
        expect(look.page.get_by_role("tab", name=name)).to_be_focused()
        expect(look.page.get_by_role("tabpanel", name=name)).to_be_visible()
    look.page.keyboard.press("Tab")
    look.page.keyboard.press("Tab")
    look.page.keyboard.press("Enter")
    expect(look.page.get_by_role("tabpanel", name="Output")).to_be_visible()
    expect(look.output).to_contain_text("by keys")
