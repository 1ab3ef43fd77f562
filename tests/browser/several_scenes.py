"""Scenes of several models: calls between them, and the live view of a gateway."""

from __future__ import annotations

from page import Look
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
    look.run()
    look.ends("failed")
    expect(tree.locator(".calls .calls .call-error")).to_have_text("ValueError: no <b>words</b>")
    look.input("gate").uncheck()
    look.edit("path", "[]")
    look.input("fail").fill("")
    look.run()
    look.ends("succeeded")
    expect(tree).to_be_hidden()
    look.tab("History")
    look.page.locator("#history button[title]").first.wait_for()
    look.page.locator("#history li button:not([title])").nth(1).click()
    expect(tree.locator(".calls .calls .call-error")).to_have_text("ValueError: no <b>words</b>")


def live_calls(look: Look) -> None:
    """So does the live view, in the details of a prediction."""
    answer = look.page.request.put(look.url + "/models/a/predictions/x", data={"input": {"path": ["b", "c"], "gate": True}}, headers={"Prefer": "respond-async"})
    assert answer.status == 202, answer.text()
    look.load("/models/a/dashboard")
    look.page.get_by_role("button", name="In flight").click()
    look.page.get_by_role("button", name="x", exact=True).click()
    tree = look.page.locator(".detail .called")
    expect(tree.locator(".calls .calls li")).to_have_count(1)
    look.opens("c/open")
    expect(tree.locator(".chip", has_text="succeeded")).to_have_count(2)
    look.audit("the calls in the live view")
