"""Scenes about the problems that the live view at /dashboard names. The model is models/live.py."""

from __future__ import annotations

import re

from live_scenes import open_view, row
from page import Look, Receiver
from playwright.sync_api import expect


def live_crash(look: Look) -> None:
    """A worker that dies is a problem in words, and its row says how it ended."""
    open_view(look)
    look.ask("kill the worker")
    expect(look.page.locator("#problems")).to_contain_text("Worker 0 ended")
    expect(look.page.locator("#workers .exit")).to_contain_text("SIGKILL")
    expect(look.page.locator("#workers")).to_contain_text("ready")


def live_setup(look: Look) -> None:
    """A setup has its time, its last line, a bar and its logs, as a terminal shows them; one that failed has its traceback in view."""
    look.load("/dashboard")
    problem = look.page.locator("#problems .problem")
    expect(problem).to_contain_text(re.compile(r"The model is being set up. For \d.* s. weights: 45%"))
    expect(problem.get_by_role("progressbar", name="Progress of the setup")).to_have_attribute("value", "45")
    logs = problem.locator("pre")
    expect(logs).to_have_text("weights: 45%|")
    look.audit("a setup that runs")
    look.opens()
    expect(problem).to_contain_text("The model's setup failed. RuntimeError: no <b>weights</b> here")
    expect(look.page.locator("#status")).to_contain_text("Setup failed")
    expect(logs).to_have_text(re.compile(r"^weights: 45%.Traceback.*no <b>weights</b> here\s*$", re.DOTALL))
    assert look.page.title().startswith("(!) The model's setup failed."), look.page.title()
    assert logs.evaluate("e => e.scrollTop + e.clientHeight >= e.scrollHeight - 1"), "the end of the logs is not in view"
    look.audit("a setup that failed")


def live_webhooks(look: Look) -> None:
    """Webhooks that are tried again and webhooks that are lost are problems in words, with the receiver and its answer."""
    receiver = Receiver()
    url = receiver.url

    def predict(path: str) -> None:
        body = {"input": {}, "webhook": url + path, "webhook_events_filter": ["completed"]}
        response = look.page.request.post(look.url + "/predictions", data=body)
        assert response.status == 200, response.text()

    open_view(look)
    expect(look.page.locator("#ends")).not_to_contain_text("Webhooks")
    for _ in range(2):
        predict("/retried")
    problems = look.page.locator("#problems")
    expect(problems).to_contain_text("2 webhooks not delivered yet, and tried again.")
    expect(problems).to_contain_text(f"The last one, at {url}: the receiver answered 503 Service Unavailable.")
    expect(look.page.locator("#ends")).to_contain_text("Webhooks tried again 2")
    assert not look.page.title().startswith("(!)"), look.page.title()  # they may still arrive
    look.audit("with webhooks that are tried again")
    receiver.refuses = False
    expect(problems).to_be_empty()
    expect(look.page.locator("#ends")).not_to_contain_text("Webhooks")
    predict("/lost")
    expect(problems).to_contain_text("1 webhook lost in the last minute.")
    expect(problems).to_contain_text(f"The last one, at {url}: the receiver answered 410 Gone. The server's log names each.")
    expect(look.page.locator("#ends")).to_contain_text("Webhooks lost 1")
    expect(look.page).to_have_title(re.compile(r"^\(!\) 1 webhook lost"))
    receiver.shutdown()


def live_stuck(look: Look) -> None:
    """A prediction that runs for much longer than the others is named and canceled there; a waiting one is not an error."""
    for i in range(5):
        look.predict(f"quick-{i}")
    look.predict("long", wait=False, gate="never")
    open_view(look)
    problem = look.page.locator(".problem", has_text="seems stuck")
    expect(problem).to_contain_text("It has run long for 10 s; p99 is")
    look.audit("a stuck prediction")
    problem.get_by_role("button", name="Python stack of long").click()
    expect(problem.locator("pre")).to_contain_text("in run")
    look.page.get_by_role("button", name="In flight").click()
    row(look, "long").get_by_role("button").click()
    look.page.locator(".detail").get_by_role("button", name="Python stack").click()
    expect(look.page.locator(".detail pre[aria-label='Python stack']")).to_contain_text("Task of the prediction")
    look.audit("the stack of a stuck prediction")
    problem.get_by_role("button", name="Cancel long").click()
    look.page.get_by_role("button", name="Last 100").click()
    expect(look.page.locator(".problem", has_text="seems stuck")).to_have_count(0)
    expect(row(look, "long").locator(".chip")).to_have_text("canceled")


def live_stuck_again(look: Look) -> None:
    """One that was canceled does not hide the next one that is stuck."""
    for i in range(3):
        look.predict(f"quick-{i}")
    open_view(look)
    for id in ("first", "second"):
        look.predict(id, wait=False, gate="never")
        problem = look.page.locator(".problem", has_text="Worker 0 seems stuck.")
        expect(problem).to_contain_text(f"It has run {id} for 10 s; p99 is")
        problem.get_by_role("button", name=f"Cancel {id}").click()
        expect(problem).to_have_count(0)


def live_stuck_token(look: Look) -> None:
    """With tokens, a client without one neither sees nor cancels a stuck prediction; the page asks for one, and cancels it."""
    page = look.page
    look.refusals = [401]
    token = {"Authorization": "Bearer the-token-of-the-page"}

    def post(path: str, headers: dict[str, str], **data) -> int:
        return page.request.post(look.url + path, headers=headers, data=data).status

    for i in range(5):
        assert post("/predictions", token, id=f"quick-{i}", input={}) == 200
    assert post("/predictions", {**token, "Prefer": "respond-async"}, id="long", input={"gate": "never"}) == 202
    look.load("/dashboard")
    ask = page.locator("#token-dialog")
    look.give_token("the-token-of-the-page")
    problem = page.locator(".problem", has_text="seems stuck")
    expect(problem).to_contain_text("It has run long for 10 s; p99 is")
    stack = "/dashboard/stack?kind=prediction&id=long"
    for wrong in ({}, {"Authorization": "Bearer another token"}):
        for path in ("/predictions/long/cancel", stack):
            assert post(path, wrong) == 401, (path, wrong)
        assert page.request.get(look.url + "/dashboard/events", headers=wrong).status == 401, wrong
    page.evaluate("sessionStorage.setItem('pinion-token', 'one that is no longer valid')")
    cancel = problem.get_by_role("button", name="Cancel long")
    cancel.click()
    expect(ask).to_contain_text("rejected that token")
    ask.get_by_role("button", name="Cancel").click()
    expect(cancel).to_have_text("Not canceled: the server requires a token")
    problem.get_by_role("button", name="Python stack of long").click()
    look.give_token("the-token-of-the-page")
    expect(problem.locator("pre")).to_contain_text("in run")
    cancel.click()
    expect(problem).to_have_count(0)
    expect(row(look, "long").locator(".chip")).to_have_text("canceled")


def live_groups(look: Look) -> None:
    """Failures are counted by their exception, and a count shows its predictions."""
    for i in range(3):
        look.predict(f"failed-{i}", text="fail")
    look.predict("failed-oddly", text="odd")
    open_view(look)
    look.page.get_by_role("button", name=re.compile("^Failed")).click()
    group = look.page.get_by_role("group", name="Failures by exception").get_by_role("button")
    expect(group).to_have_text(["3 × ValueError", "1 × constructor"])
    look.audit("failures by exception")
    group.first.click()
    expect(look.page.locator("#list tbody tr")).to_have_count(3)
    expect(group.first).to_have_attribute("aria-pressed", "true")
    expect(group.first).to_be_focused()
    look.audit("failures of one exception")
    group.first.click()
    expect(look.page.locator("#list tbody tr")).to_have_count(4)
    expect(group.first).to_have_attribute("aria-pressed", "false")
