"""Scenes of several models: calls between them, and the live view of a gateway."""

from __future__ import annotations

import re

from page import Look, Receiver
from playwright.sync_api import expect

TREE = ["processing", "b", "processing", "c"]


def words(tree) -> list[str]:
    """Return states and models of a tree of calls, in its order."""
    return tree.locator(".chip, strong").all_inner_texts()


def calls(look: Look) -> None:
    """A prediction that calls other models shows their predictions as a tree, while it runs and after its end."""
    look.load("/models/a/docs")
    tree = look.page.locator("#calls")
    expect(tree).to_be_hidden()
    look.edit("path", '["b", "c"]')
    look.input("gate").check()
    look.run()
    expect(tree.locator(".calls .calls li")).to_have_count(1)
    assert words(tree) == TREE, words(tree)
    look.opens("c/open")
    look.ends("succeeded")
    assert [w.replace("succeeded", "processing") for w in words(tree)] == TREE, words(tree)
    look.audit("the calls of a prediction")
    look.input("fail").fill("no <b>words</b>")
    look.runs("failed")
    expect(tree.locator(".calls .calls .call-error")).to_have_text("ValueError: no <b>words</b>")
    look.input("gate").uncheck()
    look.edit("path", "[]")
    look.input("fail").fill("")
    look.runs()
    expect(tree).to_be_hidden()
    look.tab("History")
    look.page.locator("#history button[title]").first.wait_for()
    look.page.locator("#history li button:not([title])").nth(1).click()
    expect(tree.locator(".calls .calls .call-error")).to_have_text("ValueError: no <b>words</b>")


def many_calls(look: Look) -> None:
    """Many calls of one model in one state are a line, which unfolds. A model's name leads to its page."""
    page = look.page
    look.load("/models/a/docs")
    tree = page.locator("#calls")
    look.edit("path", '["b"]')
    look.input("times").fill("7")
    look.runs()
    fold = tree.locator("summary")
    expect(fold).to_have_text(re.compile(r"^succeeded b 7 calls, .* to "))
    look.audit("many calls")
    fold.focus()
    page.keyboard.press("Enter")
    links = tree.get_by_role("link", name="b", exact=True)
    expect(links).to_have_count(7)
    expect(links.first).to_have_attribute("href", re.compile("/models/b/docs$"))
    look.audit("many calls, unfolded")
    ids = tree.locator("a code")
    expect(ids).to_have_count(7)
    with page.context.expect_page() as opened:
        ids.nth(2).click()
    expect(opened.value).to_have_url(re.compile("/models/b/dashboard#prediction=" + ids.nth(2).inner_text()))
    expect(opened.value.locator(".detail dd").first).to_have_text(ids.nth(2).inner_text())
    opened.value.close()
    look.input("times").fill("5")
    look.runs()
    expect(fold).to_have_count(0)
    expect(links).to_have_count(5)


def live_calls(look: Look) -> None:
    """So does the live view, in the details of a prediction."""
    answer = look.page.request.put(look.url + "/models/a/predictions/x", data={"input": {"path": ["b", "c"], "gate": True}}, headers={"Prefer": "respond-async"})
    assert answer.status == 202, answer.text()
    waits_in_queue(look)
    look.load("/models/a/dashboard")
    look.page.get_by_role("button", name="In flight").click()
    look.page.get_by_role("button", name="x", exact=True).click()
    tree = look.page.locator(".detail .called")
    expect(tree.locator(".calls .calls li")).to_have_count(1)
    expect(tree.get_by_role("link", name="b", exact=True)).to_have_attribute("href", re.compile("/models/b/docs$"))
    look.opens("c/open")
    expect(tree.locator(".chip", has_text="succeeded")).to_have_count(2)
    look.audit("the calls in the live view")
    inner = tree.locator(".calls .calls a code")
    id = inner.inner_text()
    with look.page.context.expect_page() as opened:
        inner.click()
    expect(opened.value).to_have_url(re.compile(f"/models/c/dashboard#prediction={id}$"))
    expect(opened.value.locator(".detail")).to_contain_text(id)
    expect(opened.value.locator("#list tbody .chip")).to_have_text("succeeded")


def waits_in_queue(look: Look) -> None:
    """A prediction that waits for a slot has its place in the queue, which is not an error, and can be canceled."""
    page = look.page
    look.load("/models/c/dashboard")
    page.get_by_role("button", name="In flight 1").click()
    expect(page.locator("#list .chip")).to_have_text("processing")
    headers = {"Prefer": "respond-async"}
    assert page.request.put(look.url + "/models/c/predictions/w", data={"input": {}}, headers=headers).status == 202
    page.locator("#list").evaluate("() => document.activeElement.blur()")
    row = page.locator("#list tbody tr", has_text="place 1 in the queue")
    expect(row.locator(".chip")).to_have_text("waiting")
    expect(row.locator(".row-error")).to_be_empty()
    expect(page.locator("#problems")).to_be_empty()
    row.get_by_role("button", name="w", exact=True).click()
    expect(page.locator(".detail")).to_contain_text("Place1 in the queue")
    look.audit("a prediction that waits")
    page.get_by_role("button", name="Cancel w").click()
    expect(page.locator(".detail")).to_contain_text("Ended")


def live_models(look: Look) -> None:
    """The live view has all models with their states and webhooks, and their tabs have the states' colours."""
    page = look.page
    receiver = Receiver()
    look.load("/models/a/dashboard")
    rows = page.locator("#all-models tbody tr")
    expect(rows).to_have_count(3)
    expect(rows.locator(".chip")).to_have_text(["ready"] * 3)
    expect(page.locator("#all-models")).not_to_contain_text("Webhooks")
    assert page.request.post(look.url + "/models/c/unload").status == 200
    expect(rows.nth(2).locator(".chip")).to_have_text("unloaded")
    look.load("/models/c/dashboard")
    expect(page.locator("#status")).to_contain_text("Not loaded")
    expect(page.locator("#workers")).to_have_text("The model is not loaded.")
    look.audit("a model that is not loaded")
    expect(page.locator("#list")).to_contain_text("No prediction yet")
    look.load("/models/a/dashboard")
    expect(page.get_by_role("navigation", name="Models").get_by_role("link", name="a", exact=True).locator(".dot")).to_have_class("dot good")
    expect(page.get_by_role("navigation", name="Models").get_by_role("link", name="c", exact=True)).to_have_attribute("title", "unloaded")
    for path in ("/lost", "/retried"):
        body = {"input": {}, "webhook": receiver.url + path, "webhook_events_filter": ["completed"]}
        assert page.request.post(look.url + "/models/b/predictions", data=body).status == 200
    expect(rows.nth(1).locator("td").last).to_have_text("1 tried again, 1 lost")
    expect(rows.nth(0).locator("td").last).to_have_text("–")
    for width, height in SIZES:
        page.set_viewport_size({"width": width, "height": height})
        look.audit(f"all models with their webhooks, {width} pixels wide")
    receiver.refuses = False
    expect(rows.nth(1).locator("td").last).to_have_text("1 lost")
    rows.nth(1).get_by_role("link").click()
    expect(page.locator("#problems")).to_contain_text("1 webhook lost in the last minute.")
    receiver.shutdown()


SIZES = [(390, 844), (1440, 900), (1920, 1080)]


def long_names(look: Look) -> None:
    """Long names of models, servers and versions, which a server chooses, wrap and are no HTML."""
    page = look.page
    server = {"name": "<b>" + "s" * 190, "slots": 1, "free": 0, "running": 1, "draining": False, "version": "1", "versions": {"v" * 190: 1}}
    model = {"name": "m" * 200, "docs": "docs", "waiting": 1, "running": 1, "stored": 2, "capacity": 2, "dead": 1, "oldest_waiting": 1, "servers": [server]}
    page.route("**/dashboard/fleet", lambda route: route.fulfill(json={"models": [model]}))
    expect(page.get_by_role("region", name="m" * 200, exact=True)).to_contain_text("<b>sss")
    for width, height in SIZES:
        page.set_viewport_size({"width": width, "height": height})
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), f"{width} pixels: wider than the screen"
    page.unroute("**/dashboard/fleet")


def calls_at_gateway(look: Look) -> None:
    """The page of a gateway shows the calls of a job while it runs on another server."""
    look.load("/models/ocr/docs")
    look.edit("path", '["embed"]')
    look.input("gate").check()
    look.run()
    tree = look.page.locator("#calls")
    expect(tree.locator(".calls li")).to_have_count(1)
    assert words(tree) == ["processing", "embed"], words(tree)
    look.opens("embed/open")
    look.ends("succeeded")
    expect(tree.locator(".chip")).to_have_text("succeeded")
    look.load("/dashboard")


def fleet(look: Look) -> None:
    """The live view of a gateway: servers and jobs of each model, dead letters, and what is wrong in words."""
    page = look.page
    look.load("/dashboard")
    card = page.get_by_role("region", name="ocr", exact=True)
    figures = card.locator(".figures")
    expect(figures).to_contain_text("Waiting2")
    expect(figures).to_contain_text("Running1")
    expect(card.locator(".chip")).to_have_text("takes jobs")
    expect(page.locator("#feed .dot")).to_have_class("dot good")
    expect(page.locator("#problems")).to_be_empty()
    for theme in ("light", "dark"):
        page.emulate_media(color_scheme=theme)
        for width, height in SIZES:
            page.set_viewport_size({"width": width, "height": height})
            look.audit(f"a fleet, {theme}, {width} pixels wide")
            assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), f"{width} pixels: wider than the screen"
    page.keyboard.press("Tab")
    expect(page.get_by_text("Skip to the models")).to_be_focused()
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    expect(page.locator("html")).to_have_attribute("data-theme", "light")
    page.keyboard.press("Tab")
    expect(page.get_by_role("link", name="Try ocr")).to_be_focused()
    look.ask("kill the server")
    expect(page.locator("#problems")).to_contain_text("No server takes the jobs of ocr. 2 jobs wait for one.")
    expect(page.get_by_role("link", name="Try ocr")).to_be_focused()
    assert page.title().startswith("(!) "), page.title()
    look.opens("ocr/open")  # so that the other one has a slot for the job that the first one ran
    look.ask("start another")
    expect(page.locator("#problems")).to_contain_text("1 dead letter of ocr: no server could end that job.", timeout=90_000)
    expect(figures).to_contain_text("Dead letters1")
    look.audit("a fleet with a dead letter")
    calls_at_gateway(look)
    long_names(look)
    look.loses = True
    look.ask("stop the gateway")
    expect(page.locator("#lost")).to_contain_text("The gateway cannot be reached.")
    look.audit("a gateway that is gone")
