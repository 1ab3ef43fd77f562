"""Scenes about the form: what it is made of, what it keeps, and what it says when there is no model to run."""

from __future__ import annotations

import json
import pathlib
import re
import tempfile

from page import PNG, Look
from playwright.sync_api import expect


def form(look: Look) -> None:
    """The form is made of the schema, in its order; what is filled in arrives."""
    look.load()
    expect(look.page.locator("#status")).to_contain_text("Ready")
    expect(look.page.locator(".field")).to_have_count(8)
    names = look.page.locator(".field").evaluate_all("all => all.map(e => e.querySelector('label').htmlFor)")
    assert names == ["in-" + n for n in ("prompt", "steps", "scale", "scheduler", "sure", "sizes", "token", "note")], names
    expect(look.page.get_by_text("What to <b>draw</b>")).to_be_visible()
    expect(look.page.get_by_label("prompt", exact=True)).to_be_visible()
    expect(look.input("steps")).to_have_value("20")
    expect(look.input("scale")).to_have_value("7.5")
    expect(look.input("scheduler")).to_have_value("0")
    for row, value in (("sizes 1", "1"), ("sizes 2", "2")):
        expect(look.page.get_by_label(row, exact=True)).to_have_value(value)
    expect(look.input("token")).to_have_attribute("type", "password")
    expect(look.input("note")).to_be_hidden()  # folded away: it is optional

    look.input("prompt").fill("a \"cat\" & it's <toy>")
    look.page.get_by_label("steps, slider").fill("33")
    expect(look.input("steps")).to_have_value("33")
    look.input("scheduler").select_option("Euler")
    look.input("sure").check()
    look.page.get_by_label("sizes 1", exact=True).fill("3")
    look.page.get_by_role("button", name="sizes: remove row 2").click()
    look.page.get_by_text("Optional inputs").click()
    look.input("token").fill("12345")
    look.input("prompt").press("Control+Enter")
    look.ends("succeeded")
    answer = look.answer()
    want = {
        "prompt": "a \"cat\" & it's <toy>", "steps": 33, "scale": 7.5, "scheduler": "Euler", "sure": True, "sizes": [3],
        "token": 5, "note": None,
    }
    assert answer["output"] == want, answer
    assert "12345" not in json.dumps(answer), "the secret is in the answer"
    expect(look.page.locator("#logs")).to_have_text("drawing a \"cat\" & it's <toy>\n", use_inner_text=False)
    expect(look.page.locator("#metrics")).to_contain_text("tokens")
    expect(look.output).to_contain_text('scheduler: "Euler"')
    assert not any("12345" in code for code in look.codes().values()), "the secret is in the code"
    look.report(output=want, environment={"TOKEN": "12345"})
    look.page.get_by_role("button", name="Reset").click()
    expect(look.input("prompt")).to_have_value("")
    expect(look.input("steps")).to_have_value("20")


def errors(look: Look) -> None:
    """What the server refuses is shown at its input, and gone with the next run."""
    look.refusals = [422]
    look.load()
    look.input("steps").fill("77")
    look.edit("sizes", "nonsense")
    look.run()
    expect(look.page.locator("#state")).to_contain_text("refused")
    expect(look.page.locator("#in-steps-error")).to_contain_text("maximum of 50")
    expect(look.page.locator("#in-sizes-error")).not_to_be_empty()
    expect(look.input("steps")).to_be_focused()
    expect(look.page.locator("#failure .message")).to_have_text(re.compile("^steps: .*sizes: ", re.DOTALL))  # as in the form
    look.input("prompt").fill("x")
    look.input("steps").fill("7")
    look.edit("sizes", "[]")
    look.runs()
    expect(look.page.locator("#in-steps-error")).to_be_empty()
    look.tab("History")
    entries = look.page.locator("#history li")
    expect(entries).to_have_count(2)
    entries.nth(1).get_by_role("button").click()
    expect(look.page.locator("#state")).to_contain_text("refused")


def late(look: Look) -> None:
    """A page that was opened during setup has its form as soon as there is one, and says how things stand."""
    look.load()
    expect(look.page.locator("#status")).to_contain_text("Starting")
    expect(look.page.get_by_role("heading", level=1)).to_have_text(look.folder.name, use_inner_text=True)
    expect(look.page.locator("#fields")).to_contain_text("being set up")
    expect(look.page.locator("#state")).to_contain_text("The model is being set up, for")
    expect(look.page.locator("#logs")).to_have_text("weights: 45%|####", use_inner_text=False)
    expect(look.page.get_by_role("progressbar", name="Progress")).to_have_attribute("value", "45")
    look.opens()
    look.input("text").fill("here at last")
    expect(look.page.locator("#status")).to_contain_text("Ready")
    look.runs()
    expect(look.output).to_have_text("here at last")
    assert look.page.locator("#side").bounding_box()["height"] < 500, "below a short output there is an empty area"


def unset(look: Look) -> None:
    """A setup that failed is shown with its traceback and its logs."""
    look.load()
    expect(look.page.locator("#status")).to_contain_text("Setup failed")
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
    expect(look.page.locator("#state")).to_be_empty()
    look.page.get_by_role("button", name="Enter a token").click()
    expect(ask).to_contain_text("requires a token")
    look.give_token("another token")
    expect(ask).to_contain_text("rejected that token")
    look.give_token("a token…")
    expect(ask.locator("input:invalid")).to_be_focused()
    look.give_token("the-token-of-the-page")
    expect(look.input("prompt")).to_be_visible()
    look.input("prompt").fill("x")
    look.runs()
    assert not any("the-token" in code for code in look.codes().values()), "the token is in the code"
    look.report(look.answer()["output"], environment={"PINION_TOKEN": "the-token-of-the-page"})
    look.page.reload()
    expect(look.input("prompt")).to_be_visible()
    expect(ask).to_have_count(0)


def storeless(look: Look) -> None:
    """In a browser that refuses storage the page works, and asks for the token once."""
    look.refusals = [401]
    look.page.add_init_script(REFUSED_STORAGE)
    look.load()
    ask = look.page.locator("#token-dialog")
    look.give_token("the-token-of-the-page")
    look.input("prompt").fill("x")
    look.runs()
    expect(ask).to_have_count(0)


REFUSED_STORAGE = """for (const name of ["sessionStorage", "localStorage", "indexedDB"])
    Object.defineProperty(window, name, {get() { throw new DOMException("refused", "SecurityError"); }});
"""


def train(look: Look) -> None:
    """A model with a train function has a form for it, too."""
    look.load()
    look.page.get_by_label("Train").check()
    expect(look.input("epochs")).to_have_value("2")
    look.runs()
    expect(look.output).to_have_text("trained 2")
    look.page.get_by_label("Predict").check()
    expect(look.input("text")).to_be_visible()


def narrow(look: Look) -> None:
    """On a telephone nothing stands out to the side, and every control has a name."""
    look.page.set_viewport_size({"width": 360, "height": 640})
    look.page.emulate_media(color_scheme="dark")
    look.load()
    look.input("prompt").fill("x" * 300)
    look.runs()
    for name in ("JSON", "History", "Code", "Output"):
        look.tab(name)
        width = look.page.evaluate("document.documentElement.scrollWidth")
        assert width <= 360, f"with {name} the page is {width} pixels wide"
    nameless = look.page.evaluate(
        "[...document.querySelectorAll('main input, main select, main textarea')]"
        ".filter(e => !e.labels?.length && !e.ariaLabel).map(e => e.outerHTML)"
    )
    assert not nameless, nameless
    look.page.evaluate("scrollTo(0, 0)")
    look.runs()
    look.page.wait_for_function(
        "() => { const b = document.querySelector('#state').getBoundingClientRect(); return b.top >= 0 && b.bottom <= innerHeight / 3 }"
    )


def beside(look: Look) -> None:
    """On a wide screen the result is in sight wherever in a long form Run is pressed, and what has the focus is never below Run."""
    look.load()
    expect(look.input("a")).to_be_visible()
    look.page.locator("#kind").evaluate("e => e.parentElement.querySelector('textarea').focus()")
    bar = look.page.locator("#actions")
    for _ in range(30):
        look.page.keyboard.press("Tab")
        focused = look.page.evaluate("() => { const b = document.activeElement.getBoundingClientRect(); return [b.bottom, Boolean(document.activeElement.closest('.field'))] }")
        assert not focused[1] or focused[0] <= bar.bounding_box()["y"], f"the focus is below the bar: {focused}"
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


def labels(look: Look) -> None:
    """Every input is labelled by its name, as the API and the code have it."""
    look.load()
    look.page.get_by_text("Optional inputs").click()
    expect(look.input("note")).to_be_visible()
    for name in ("prompt", "steps", "scale", "scheduler", "sure", "sizes", "token", "note"):
        expect(look.page.locator(f"label[for=in-{name}]")).to_have_text(name)


def stored(look: Look) -> None:
    """A reload leaves the inputs as they are, except for secrets."""
    look.load()
    look.input("prompt").fill("a cat")
    look.input("steps").fill("33")
    look.input("scheduler").select_option("Euler")
    look.input("sure").check()
    look.edit("sizes", "[3]")
    look.page.get_by_text("Optional inputs").click()
    look.input("note").fill("for later")
    look.input("token").fill("12345")
    look.page.reload()
    expect(look.input("prompt")).to_have_value("a cat")
    expect(look.input("steps")).to_have_value("33")
    expect(look.page.get_by_label("steps, slider")).to_have_value("33")
    expect(look.input("scheduler")).to_have_value("1")
    expect(look.input("sure")).to_be_checked()
    expect(look.page.get_by_label("sizes 1", exact=True)).to_have_value("3")
    expect(look.input("note")).to_have_value("for later")
    expect(look.input("note")).to_be_visible()
    expect(look.input("token")).to_have_value("")
    assert "12345" not in look.page.evaluate("JSON.stringify([sessionStorage, localStorage])")
    look.runs()
    assert look.answer()["output"]["note"] == "for later"
    look.page.get_by_role("button", name="Reset").click()
    look.page.reload()
    expect(look.input("prompt")).to_have_value("")


def stored_files(look: Look) -> None:
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
    look.runs()
    assert look.output.locator("img").evaluate("e => e.decode().then(() => e.naturalWidth)") == 2


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
    look.runs()
    output = look.answer()["output"]
    assert output == "a red fox, 7: " + content.decode(), output
    look.report(output, {"image.txt": content})


def examples(look: Look) -> None:
    """The examples of a document that comes with the model fill the form in."""
    look.load()
    look.page.get_by_role("button", name="Example").click()
    expect(look.input("prompt")).to_have_value("a red fox")
    expect(look.input("steps")).to_have_value("7")
    expect(look.page.locator("#code")).to_contain_text("a red fox")
    look.page.get_by_role("button", name="At night").click()
    expect(look.input("prompt")).to_have_value("a black fox")


def audited(look: Look) -> None:
    """The page passes axe-core, light and dark, before a run and after each kind of end."""
    look.refusals = [422]
    for scheme in ("light", "dark"):
        look.page.emulate_media(color_scheme=scheme)
        look.load()
        expect(look.input("prompt")).to_be_visible()
        look.page.get_by_role("button", name="Reset").click()
        look.audit(f"{scheme}, nothing has run")
        for status, prompt, steps in (("refused", "a cat", "77"), ("failed", "fail", "7"), ("succeeded", "a cat", "7")):
            look.input("prompt").fill(prompt)
            look.input("steps").fill(steps)
            look.runs(status)
            look.page.evaluate("document.querySelectorAll('details').forEach((e) => (e.open = true))")
            look.audit(f"{scheme}, {status}")


def audited_narrow(look: Look) -> None:
    """On a telephone it passes, too, with files."""
    look.page.set_viewport_size({"width": 360, "height": 740})
    look.load()
    expect(look.input("prompt")).to_be_visible()
    look.audit("a form with files")


def chat(look: Look) -> None:
    """A function with @cog.openai has a conversation to begin with, and its code with OpenAI's client."""
    look.load()
    expect(look.input("messages")).to_be_hidden()
    expect(look.page.get_by_label("Message", exact=True)).to_have_value("Hello")
    look.input("tone").fill("warm")
    look.page.get_by_role("button", name="Send").click()
    look.ends("succeeded")
    bubbles = look.page.locator(".bubble .markdown")
    expect(bubbles).to_have_text(["Hello", "Hello, said in a warm tone at 0.5"])
    expect(look.page.locator("#talk")).to_contain_text("8 tokens")
    look.page.get_by_label("Message", exact=True).fill("Hello")
    code = look.code("OpenAI client")
    assert 'model="speaker"' in code and 'extra_body={"tone": "warm"}' in code, code
    look.report("Hello, said in a warm tone at 0.5")


def chat_off(look: Look) -> None:
    """Without OpenAI's API, its client has no code."""
    look.load()
    expect(look.input("messages")).to_be_visible()
    assert not look.has_code("OpenAI client")


def completions(look: Look) -> None:
    """OpenAI's client takes the token from the environment."""
    look.refusals = [401]
    look.load()
    look.give_token("the-token-of-the-page")
    look.input("prompt").fill("thrice")
    look.runs()
    look.report("thrice upon 3 times", environment={"PINION_TOKEN": "the-token-of-the-page"})
