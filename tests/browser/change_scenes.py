"""Scenes about what a page meets while it is open: a server that goes away, a model that is reloaded, answers of any size."""

from __future__ import annotations

import pathlib

from page import Look
from playwright.sync_api import expect


def away(look: Look) -> None:
    """What came before the server went away stays, and the page says what happened."""
    look.loses = True
    look.load()
    look.run()
    expect(look.output).to_have_text("word0 word1 ", use_inner_text=False)
    look.ask("kill")
    look.ends("failed")
    expect(look.page.locator("#failure .message")).to_have_text("The connection broke before the prediction had ended.")
    expect(look.output).to_have_text("word0 word1 ", use_inner_text=False)
    expect(look.page.locator("#status")).to_contain_text("Not reachable")
    look.run()
    expect(look.page.locator("#failure .message")).to_have_text("The server cannot be reached.")
    look.ask("start")
    look.opens()
    expect(look.page.locator("#status")).to_contain_text("Ready")
    look.runs()


def reloaded(look: Look) -> None:
    """The form follows a reloaded model: new inputs and defaults are there, and what was filled in stays."""
    look.load()
    look.input("prompt").fill("a fox")
    look.ask("change the model")
    expect(look.input("seed")).to_have_value("7")
    expect(look.input("steps")).to_have_value("4")
    expect(look.input("prompt")).to_have_value("a fox")
    expect(look.input("prompt")).to_be_focused()
    expect(look.page.locator("#fields")).to_contain_text("The model was reloaded.")
    expect(look.page.locator("#about")).to_have_text("Draws more.")
    look.runs()
    assert look.answer()["output"] == "a fox, 4, 7", look.answer()


def proxied(look: Look) -> None:
    """An answer that is a proxy's page is told as such."""
    look.refusals = [502]
    look.load()
    look.page.route("**/predictions", lambda route: route.fulfill(status=502, content_type="text/html", body="<h1>Bad gateway</h1>"))
    look.runs("refused")
    expect(look.page.locator("#failure .message")).to_contain_text("502: the answer is not this server's JSON, but begins with: <h1>Bad gateway</h1>")


def lengthy(look: Look) -> None:
    """Of a text of five million characters the beginning is shown, and the rest can be had."""
    look.load()
    for how in ("text", "stream"):
        look.input("how").select_option(how)
        look.runs()
        expect(look.output).to_contain_text("The first 500\u202f000 of 5\u202f000\u202f000 characters.")
        assert look.output.evaluate("e => e.textContent.length") < 501_000
        with look.page.expect_download() as download:
            look.output.get_by_role("link", name="Download output.txt").click()
        assert pathlib.Path(download.value.path()).read_text() == "0123456789" * 500_000
    assert look.page.locator("#json").evaluate("e => e.textContent.length") < 501_000
    look.page.set_viewport_size({"width": 390, "height": 844})
    assert look.page.evaluate("document.documentElement.scrollHeight") < 3000, "the text makes the page as long as itself"
    look.tab("History")
    look.page.locator("#history li").first.get_by_role("button").first.click()
    expect(look.output).to_contain_text("The first")


def addresses(look: Look) -> None:
    """An address that no browser can decode is shown like another."""
    look.refusals = [404]
    look.load()
    look.input("text").fill(f"{look.url}/100%.png")
    look.runs()
    expect(look.output).to_contain_text("This browser cannot show 100%.png")
