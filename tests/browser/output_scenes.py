"""Scenes about a run: its progress, what comes of it, and the code of the same request."""

from __future__ import annotations

import pathlib
import re
import tempfile

from page import PNG, Look
from playwright.sync_api import expect


def stream(look: Look) -> None:
    """Tokens are there before the end, joined to one text."""
    look.load()
    look.run()
    expect(look.output).to_have_text("word0 word1 ", use_inner_text=False)
    expect(look.page.locator("#state")).to_contain_text("2 items")
    expect(look.page.locator("#state")).to_contain_text("the first after")
    look.opens()
    look.ends("succeeded")
    expect(look.output).to_have_text("word0 word1 word2 word3 word4 ", use_inner_text=False)
    look.report(output="word0 word1 word2 word3 word4 ")
    look.input("n").fill("20000")
    look.runs()
    assert (look.output.text_content() or "").endswith("word19998 word19999 ")


def items(look: Look) -> None:
    """Each item of a list that is yielded is shown for itself."""
    look.load()
    look.runs()
    expect(look.output.locator("img")).to_have_count(2)


def stop(look: Look) -> None:
    """Stop and Escape cancel what runs, and the next prediction is served."""
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
        expect(look.page.locator("#status")).to_contain_text("Busy")
        press()
        look.ends("canceled")
        expect(look.page.get_by_role("button", name="Run")).to_be_enabled()
        expect(look.page.get_by_role("button", name="Stop")).to_be_disabled()
        expect(look.page.locator("#logs")).to_have_text("sleeping\n", use_inner_text=False)


def queue(look: Look) -> None:
    """A waiting prediction shows its place in the queue."""
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
        expect(look.page.get_by_text("b.txt, 1 byte")).to_be_visible()
        look.runs()
    image = look.output.locator("img")
    expect(image).to_be_visible()
    assert image.evaluate("e => e.decode().then(() => e.naturalWidth)") == 2
    assert downloaded(look) == "a b"
    dropped = look.page.evaluate_handle(
        "() => { const all = new DataTransfer(); all.items.add(new File(['c'], 'c.txt', {type: 'text/plain'})); return all }"
    )
    look.page.locator(".drop").nth(1).dispatch_event("drop", {"dataTransfer": dropped})
    expect(look.page.get_by_text("c.txt, 1 byte")).to_be_visible()
    look.run()
    expect(look.page.locator("#history li")).to_have_count(2)
    look.ends("succeeded")
    assert downloaded(look) == "c"
    look.page.get_by_role("button", name="others: remove").click()
    expect(look.page.get_by_text("c.txt, 1 byte")).to_have_count(0)
    assert "c.txt" not in look.code("curl")
    with tempfile.TemporaryDirectory() as folder:
        gone = pathlib.Path(folder, "gone.txt")
        gone.write_text("gone")
        look.page.evaluate("document.body.append(Object.assign(document.createElement('input'), {type: 'file', id: 'chosen'}))")
        look.page.locator("#chosen").set_input_files(gone)
    dropped = look.page.evaluate_handle(
        "() => { const all = new DataTransfer(); all.items.add(document.querySelector('#chosen').files[0]); return all }"
    )
    look.page.locator(".drop").nth(1).dispatch_event("drop", {"dataTransfer": dropped})
    expect(look.page.get_by_role("alert")).to_contain_text("gone.txt cannot be read")


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
        look.runs(status)

    show("rows")
    expect(look.output.locator("th")).to_have_text(["name", "score"])
    expect(look.output.locator("tbody tr")).to_have_count(2)
    show("vector")
    expect(look.output.locator("svg path")).to_have_attribute("d", re.compile("^M0,"))
    show("floats")
    look.output.get_by_text("list of 5").click()
    numbers = look.output.locator(".tree .tree > div")
    expect(numbers).to_have_text(["0: 0.3", "1: -0.333333", "2: 6.66667e-10", "3: 12345679", "4: 7"])
    expect(numbers.first.get_by_text("0.3")).to_have_attribute("title", "0.30000000000000004")
    expect(look.output).to_contain_text("5 numbers from -0.333333 to 12345679")
    expect(look.output).to_contain_text("score: 0.666667")
    assert look.answer()["output"]["score"] == 2 / 3
    show("markup")
    expect(look.output).to_contain_text("<script>alert(1)</script>")
    assert look.output.locator("img, script").count() == 0
    show("nothing")
    expect(look.output).to_have_text("The output is null.")
    show("error", "failed")
    expect(look.page.locator("#failure .message")).to_have_text("ValueError: no <such> shape")
    expect(look.page.locator("#failure .traceback")).to_be_visible()
    expect(look.page.locator("#failure .traceback")).to_contain_text("page.py", use_inner_text=True)
    expect(look.page.locator("#failure .traceback")).not_to_contain_text("noise before it")
    expect(look.page.locator("#logs")).to_contain_text("  noise before it")
    expect(look.page.locator("#logs")).to_contain_text("Traceback")
    assert look.page.title() != "broken in"


def media(look: Look) -> None:
    """Files anywhere in the output are shown as what they are, and can be kept under a name."""
    look.load()
    expect(look.page.get_by_role("heading", level=1)).to_have_text(look.folder.name, use_inner_text=True)
    expect(look.page.locator("#about")).to_have_text("Shows what it has.\n\nIn a second paragraph: <i>no markup</i>.", use_inner_text=True)
    look.runs()
    pictures = look.output.locator("img")
    expect(pictures).to_have_count(4)
    for i in range(4):
        expect(pictures.nth(i)).to_be_visible()
        assert pictures.nth(i).evaluate("e => e.decode().then(() => e.naturalWidth)") == 2
    expect(look.output.locator("audio[controls]")).to_be_visible()
    assert look.output.locator("audio").evaluate(
        "e => new Promise(done => { e.readyState ? done(e.duration) : e.addEventListener('loadedmetadata', () => done(e.duration)) })"
    ) == 0.1
    film = look.output.locator("video[controls]")
    expect(film).to_be_visible()
    assert film.evaluate(
        "e => new Promise(done => { const tell = () => done([e.videoWidth, e.duration]); e.readyState ? tell() : e.addEventListener('loadedmetadata', tell) })"
    ) == [16, 1]
    expect(look.output).to_contain_text("This browser cannot show output-broken.mp4: it is damaged or of an unknown format.")
    expect(look.output).to_contain_text("naïve <b>notes</b>")
    expect(look.output).to_contain_text('{"a": [1, 2]}')
    expect(look.output).to_contain_text("<script>document.title = 'broken in'</script>")
    assert look.page.title() == look.folder.name
    names = look.output.get_by_role("link").evaluate_all("all => all.map(e => e.download)")
    assert names == [
        "output-pictures-1.png", "output-pictures-2.png", "output-deep-mask.png", "output-deep-rows-1-crop.png", "output-sound.wav",
        "output-film.webm", "output-broken.mp4", "output-texts-1.txt", "output-texts-2.json", "output-texts-3.html", "output-weights.bin",
    ], names
    with look.page.expect_download() as download:
        look.output.get_by_role("link", name="output-weights.bin").click()
    assert download.value.suggested_filename == "output-weights.bin"
    assert pathlib.Path(download.value.path()).read_bytes() == b"\x00\x01"


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
        expect(look.page.get_by_text("$d.txt, 1 byte")).to_be_visible()
    look.page.get_by_text("Optional inputs").click()
    look.input("token").fill("it's $TOKEN")
    look.runs()
    output = look.answer()["output"]
    assert output["others"] == ["b", "d"] and output["image"] == list(PNG) and output["token"] == 11, output
    look.report(output, files, {"TOKEN": "it's $TOKEN"})


def awkward(look: Look) -> None:
    """Names that are a request's keys and large integers are sent, shown and written into the code as they are."""
    look.load()
    with tempfile.TemporaryDirectory() as folder:
        file = pathlib.Path(folder, "in put.bin")
        file.write_bytes(b"\x00\xff")
        look.page.get_by_label("input: choose a file").set_input_files(file)
        expect(look.page.get_by_text("in put.bin, 2 bytes")).to_be_visible()
    flag, rows = look.page.get_by_label("flags 1", exact=True).bounding_box(), look.page.locator("#in-flags").bounding_box()
    assert flag["x"] - rows["x"] < 10, f"the box of a flag is not at the left of its row: {flag}, {rows}"
    look.runs()
    output = look.answer()["output"]
    assert output["bytes"] == [0, 255], output
    look.report(output, {"in put.bin": b"\x00\xff"})
    look.input("seed").fill("18446744073709551615")
    look.run()
    expect(look.output).to_contain_text("seed: 18446744073709551615")
    assert look.answer()["output"]["seed"] == 18446744073709551615
    assert all("18446744073709551615" in code for code in look.codes().values())
    look.page.reload()
    expect(look.input("seed")).to_have_value("18446744073709551615")
