"""Scenes about the live view at /dashboard. The model is models/live.py."""

from __future__ import annotations

import re

from page import Look
from playwright.sync_api import Locator, expect


def open_view(look: Look) -> None:
    """Open the view and wait for its figures."""
    look.load("/dashboard")
    expect(look.page.locator("#feed")).to_have_text("Live")
    expect(look.page.locator("#status")).to_contain_text("Ready")


def row(look: Look, id: str) -> Locator:
    """Return the row of a prediction."""
    return look.page.locator("#list tr").filter(has=look.page.get_by_role("button", name=id, exact=True))


def opened(look: Look, id: str) -> Locator:
    """Open the details of a prediction."""
    row(look, id).get_by_role("button").click()
    return look.page.locator(".detail")


def drawn(look: Look, chart: str) -> str:
    """Return the paths of a chart."""
    paths = look.page.locator(f"#{chart} path:is(.area, .line)").evaluate_all("all => all.map(e => e.getAttribute('d') ?? '')")
    return " ".join(paths).strip()


def live_charts(look: Look) -> None:
    """An empty view says so. Its charts, sums and workers move with the load, and its figures agree with the server's."""
    open_view(look)
    expect(look.page.locator("#list")).to_contain_text("No prediction yet")
    expect(look.page.locator("#rate-chart")).to_contain_text("Nothing yet")
    for i in range(40):
        look.predict(f"p{i}")
    expect(look.page.locator("#ends")).to_contain_text("Succeeded 40")
    expect(look.page.locator("#rate")).not_to_have_text(re.compile("^(0|–)$"))
    expect(look.page.locator("#latency strong").first).to_contain_text("s")
    expect(look.page.locator("#time")).to_contain_text("Model")
    expect(look.page.locator("#workers tbody td[data-name=Served]")).to_have_text("40")
    before = [drawn(look, chart) for chart in ("rate-chart", "latency-chart")]
    assert all(before), before
    look.page.wait_for_function(
        "before => [...document.querySelectorAll('#rate-chart path.area')].map(e => e.getAttribute('d')).join(' ').trim() !== before", arg=before[0]
    )  # time goes on
    look.predict("held", wait=False, gate="open")
    expect(look.page.locator("#load")).to_have_text("1")
    expect(look.page.locator("#workers")).to_contain_text("1 of 4")
    look.opens()
    expect(look.page.locator("#load")).to_have_text("0")
    expect(look.page.locator("#ends")).to_contain_text("Succeeded 41")


def live_rows(look: Look) -> None:
    """The newest 25 predictions are shown, all of them where asked for; the list stands still while it is read."""
    for i in range(30):
        look.predict(f"p{i}")
    open_view(look)
    rows = look.page.locator("#list tbody tr")
    expect(rows).to_have_count(25)
    expect(rows.first).to_contain_text("p29")
    look.page.get_by_role("button", name="Show all 30").click()
    expect(rows).to_have_count(30)
    opened(look, "p3")
    look.predict("late")
    look.page.get_by_role("button", name="Show 1 newer").click()
    expect(rows.first).to_contain_text("late")
    expect(look.page.locator(".detail")).to_have_count(0)


def live_ends(look: Look) -> None:
    """A failed and a canceled prediction have their status, error, logs and times, and no markup of theirs is run."""
    open_view(look)
    look.predict("bad", text="fail")
    look.predict("stopped", wait=False, gate="never")
    look.page.get_by_role("button", name="In flight 1").click()
    expect(row(look, "stopped")).to_contain_text("processing")
    detail = opened(look, "stopped")
    detail.get_by_role("button", name="Cancel stopped").focus()
    look.page.keyboard.press("Enter")
    expect(detail).to_contain_text("Ended")
    expect(look.page.get_by_role("button", name="stopped", exact=True)).to_be_focused()
    look.page.get_by_role("button", name="In flight").click()
    expect(look.page.locator("#list")).to_contain_text("None is in flight")
    look.page.get_by_role("button", name="Last 100").click()
    expect(row(look, "stopped")).to_contain_text("canceled")
    expect(row(look, "bad")).to_contain_text("ValueError: no <b>words</b> for this")
    expect(look.page.locator("#ends")).to_contain_text("Failed 1")
    expect(look.page.locator("#ends")).to_contain_text("Canceled 1")
    look.page.get_by_role("button", name="Failed 1").click()
    expect(look.page.locator("#list tbody tr")).to_have_count(1)
    detail = opened(look, "bad")
    expect(detail).to_contain_text("working on fail")
    expect(detail).to_contain_text("Traceback")
    expect(detail).to_contain_text("Model")
    expect(detail.locator("b")).to_have_count(0)
    look.page.get_by_role("searchbox").fill("nothing is called this")
    expect(look.page.locator("#list")).to_contain_text("None of these matches")
    look.page.get_by_role("searchbox").fill("no <b>words")
    expect(row(look, "bad")).to_be_visible()


def live_content(look: Look, shown: bool = True) -> None:
    """With --dashboard-content the details have the input and the output."""
    bodies: list[str] = []
    look.page.on("response", lambda r: "/dashboard/prediction" in r.url and bodies.append(r.text()))
    look.predict("p", text="a very secret cat")
    open_view(look)
    detail = opened(look, "p")
    expect(detail).to_contain_text("working on")
    if shown:
        expect(detail).to_contain_text("output of a very secret cat")
        expect(detail).to_contain_text('"text": "a very secret cat"')
    else:
        expect(detail).to_contain_text("Inputs and outputs are shown with --dashboard-content")
        expect(detail).not_to_contain_text("output of")
    answer = look.page.request.get(look.url + "/dashboard/prediction?kind=prediction&id=p").text()
    assert ("output of" in answer) == shown, answer
    assert bodies and all(("output of" in body) == shown for body in bodies), bodies


def live_no_content(look: Look) -> None:
    """Without it they are not even sent."""
    live_content(look, shown=False)


def live_keyboard(look: Look) -> None:
    """Everything can be reached and read by the keyboard."""
    for i in range(3):
        look.predict(f"p{i}")
    open_view(look)
    keys = look.page.keyboard
    keys.press("Tab")
    expect(look.page.get_by_role("link", name="Skip to the predictions")).to_be_focused()
    keys.press("Enter")
    keys.press("/")
    expect(look.page.get_by_role("searchbox")).to_be_focused()
    keys.type("p2")
    expect(look.page.locator("#list tbody tr")).to_have_count(1)
    keys.press("Tab")
    expect(look.page.get_by_role("button", name="p2", exact=True)).to_be_focused()
    keys.press("Enter")
    expect(look.page.locator(".detail")).to_contain_text("working on")
    keys.press("Escape")
    expect(look.page.locator(".detail")).to_have_count(0)
    expect(look.page.get_by_role("button", name="p2", exact=True)).to_be_focused()
    chart = look.page.get_by_role("slider", name="Latency over time")
    chart.focus()
    keys.press("ArrowLeft")
    expect(look.page.locator("#moment")).to_contain_text("At ")
    assert re.search(r"\d+:\d+:\d+: p50 ", chart.get_attribute("aria-valuetext") or ""), chart.get_attribute("aria-valuetext")
    keys.press("Escape")
    expect(look.page.locator("#moment")).to_have_text("Now")
    look.page.get_by_role("button", name="15 min").focus()
    keys.press("Space")
    expect(look.page.get_by_role("button", name="15 min")).to_have_attribute("aria-pressed", "true")
    keys.press("p")
    expect(look.page.locator("#feed")).to_have_text("Paused")
    look.page.evaluate("document.activeElement.blur()")
    keys.press("p")
    expect(look.page.locator("#feed")).to_have_text("Live")


def live_narrow(look: Look) -> None:
    """On a telephone, in the dark, nothing stands out to the side."""
    look.page.set_viewport_size({"width": 360, "height": 640})
    look.page.emulate_media(color_scheme="dark")
    look.predict("x" * 60, text="fail")
    for i in range(30):
        look.predict(f"p{i}")
    open_view(look)
    expect(look.page.locator("#list tbody tr")).to_have_count(25)
    back = look.page.evaluate("getComputedStyle(document.documentElement).backgroundColor")
    assert max(int(n) for n in re.findall(r"\d+", back)[:3]) < 60, f"the page is not dark: {back}"
    look.page.get_by_role("button", name="Failed 1").click()
    expect(opened(look, "x" * 60)).to_contain_text("Traceback")
    width = look.page.evaluate("document.documentElement.scrollWidth")
    assert width <= 360, f"the page is {width} pixels wide"
    look.audit("a telephone")


def live_audited(look: Look) -> None:
    """The page passes axe-core, light and dark: empty, with predictions and details, with problems, and not connected."""
    look.loses = True
    for scheme in ("light", "dark"):
        look.page.emulate_media(color_scheme=scheme)
        open_view(look)
        look.audit(f"{scheme}, at the start")
        for i in range(4):
            look.predict(f"{scheme}{i}", text="fail")
        look.predict(f"{scheme}-good")
        expect(look.page.locator("#problems")).to_contain_text("of the predictions failed")
        expect(opened(look, f"{scheme}3")).to_contain_text("Traceback")
        look.audit(f"{scheme}, with problems")
        assert look.page.title().startswith("(!)"), look.page.title()
    look.ask("stop")
    expect(look.page.locator("#lost")).to_be_visible()
    for scheme in ("light", "dark"):
        look.page.emulate_media(color_scheme=scheme)
        look.audit(f"{scheme}, not connected")


def live_restart(look: Look) -> None:
    """A view that is open sees the server stop, does not hold it up, and goes on with the next one by itself."""
    look.loses = True
    open_view(look)
    look.predict("last", wait=False, gate="open")
    expect(look.page.locator("#load")).to_have_text("1")
    look.ask("terminate")
    expect(look.page.locator("#status")).to_contain_text("Stopping")
    expect(look.page.locator("#problems")).to_contain_text("waits for those in flight")
    look.opens()
    look.ask("wait for the end")
    expect(look.page.locator("#lost")).to_contain_text("Not connected.")
    expect(look.page.locator("#lost")).to_contain_text("What you see is from")
    look.ask("start")
    expect(look.page.locator("#feed")).to_have_text("Live")
    expect(look.page.locator("#lost")).to_be_hidden()
    expect(look.page.locator("#list")).to_contain_text("No prediction yet")
    look.predict("next")
    expect(row(look, "next")).to_contain_text("succeeded")


def live_token(look: Look) -> None:
    """Where the server wants a token, the page is without data until it has one, and keeps it over a reload."""
    look.refusals = [401]
    look.load("/dashboard")
    ask = look.page.locator("#token-dialog")
    ask.get_by_role("button", name="Cancel").click()
    expect(look.page.locator("#lost")).to_be_visible()
    expect(look.page.locator("#workers")).to_be_empty()
    look.page.get_by_role("button", name="Try now").click()
    look.give_token("another token")
    expect(ask).to_contain_text("rejected that token")
    look.give_token("the-token-of-the-page")
    expect(look.page.locator("#feed")).to_have_text("Live")
    expect(look.page.locator("#workers")).to_contain_text("ready")
    look.page.reload()
    expect(look.page.locator("#feed")).to_have_text("Live")
    expect(ask).to_have_count(0)


def live_batches(look: Look) -> None:
    """A model with batches has a card of their sizes."""
    open_view(look)
    expect(look.page.locator("#batches-box")).to_be_hidden()
    look.predict("first", wait=False, text="a", gate="open")
    expect(look.page.locator("#load")).to_have_text("1")
    for i in range(8):
        look.predict(f"p{i}", wait=False, text="a")
    expect(look.page.locator("#load")).to_have_text("9")
    expect(look.page.locator("#load-text")).to_contain_text("in 1 slot or waiting for a batch")
    look.opens()
    expect(look.page.locator("#batches")).to_contain_text("2 in the last minute, mean size 4.5")
    expect(look.page.locator("#batches .stick")).to_have_count(2)
    for stick in look.page.locator("#batches .stick").all():  # one batch of each size
        box = stick.bounding_box()
        assert box and box["height"] > 20, box
    look.audit("with batches")


def live_streams(look: Look) -> None:
    """Streams have a card: tokens a second and the time to the first. The setup has its duration and its logs."""
    open_view(look)
    expect(look.page.locator("#streams-box")).to_be_hidden()
    for _ in range(3):
        answer = look.page.request.post(look.url + "/predictions", data={"input": {}}, headers={"Accept": "text/event-stream"})
        assert answer.ok and "event: completed" in answer.text(), answer.text()
    facts = look.page.locator("#streams dd")
    expect(facts).to_have_text([re.compile(r"^[\d.]+$"), re.compile(r"^[\d.]+ m?s, p99 [\d.]+ m?s$"), re.compile(r"^[\d.]+ ms$")])
    expect(look.page.locator("#streams dt")).to_have_text(["A second", "Time to the first", "Between two"])
    look.page.get_by_text("Setup took").click()
    expect(look.page.get_by_label("Logs of the setup")).to_contain_text("weights: 100%")
    look.audit("streams, and the setup's logs")


def live_gpus(look: Look) -> None:
    """A machine with GPUs has a card for them. The second one does not tell its utilization."""
    open_view(look)
    gpus = look.page.locator("#gpus")
    expect(gpus).to_contain_text("GPU 0")
    expect(gpus).to_contain_text("75 %, 5 GiB")
    expect(gpus).to_contain_text("GPU 2–, 1 GiB")
    look.audit("with GPUs")


def live_link(look: Look) -> None:
    """The two pages lead to each other."""
    look.load()
    look.page.get_by_role("link", name="Live view").click()
    expect(look.page.locator("#feed")).to_have_text("Live")
    look.page.get_by_role("link", name="Try the model").click()
    expect(look.input("text")).to_be_visible()


def live_details(look: Look) -> None:
    """What is opened goes on: its logs, its end. Its address leads to it, and one that names nothing says so."""
    page = look.page
    look.predict("held", wait=False, text="a long one", gate="open")
    look.predict("other")
    open_view(look)
    page.get_by_role("button", name="In flight 1").click()
    detail = opened(look, "held")
    expect(detail).to_contain_text("prediction, async")
    expect(detail.get_by_label("Logs")).to_have_text("working on a long one\n")
    detail.get_by_label("Logs").focus()
    look.opens()
    expect(detail.get_by_label("Logs")).to_have_text("working on a long one\ndone with a long one\n")
    expect(detail.get_by_label("Logs")).to_be_focused()
    expect(detail).to_contain_text("Ended")
    expect(detail.get_by_role("button", name="Cancel held")).to_have_count(0)
    expect(detail.get_by_role("button", name="Python stack")).to_have_count(0)
    expect(row(look, "held").locator(".chip")).to_have_text("succeeded")
    address = page.url
    assert address.endswith("/dashboard#prediction=held"), address
    page.keyboard.press("Escape")
    assert page.url.endswith("/dashboard"), page.url
    page.goto(address)
    expect(page.locator(".detail")).to_contain_text("done with a long one")
    page.reload()
    expect(page.locator(".detail")).to_contain_text("done with a long one")
    expect(page.locator("#list tr.detail-row")).to_have_count(1)
    look.audit("a prediction that the address names")
    page.evaluate("location.hash = 'prediction=other'")
    expect(page.locator(".detail")).to_contain_text("done with a cat")
    page.get_by_role("button", name="Last 100").click()
    page.get_by_role("searchbox").fill("")
    look.refusals = [404]
    page.evaluate("location.hash = 'prediction=%3Cb%3Enone'")
    expect(page.locator("#deep-text")).to_have_text("The server no longer has this prediction.")
    expect(page.locator("#list")).to_contain_text("None of these matches.")


def live_search(look: Look) -> None:
    """A search goes beyond the last hundred, and says among how many. The log has what came while the page was open."""
    look.predict("the-first")
    for i in range(120):
        look.predict(f"later-{i}")
    open_view(look)
    search = look.page.get_by_role("searchbox")
    deep = look.page.get_by_role("button", name="Search all that the server keeps")
    expect(deep).to_be_hidden()
    search.fill("the-first")
    expect(look.page.locator("#list")).to_contain_text("None of these matches.")
    search.press("Enter")
    expect(row(look, "the-first").locator(".chip")).to_have_text("succeeded")
    expect(look.page.locator("#deep-text")).to_contain_text("1 match, of 121 ended predictions that the server still has: those of the last")
    look.audit("a search of all")
    row(look, "the-first").get_by_role("button").click()
    expect(look.page.locator(".detail")).to_contain_text("the-first")
    search.fill("later-119")
    expect(row(look, "later-119")).to_be_visible()
    deep.click()
    expect(look.page.locator("#deep-text")).to_contain_text("1 match, of 121")
    look.page.get_by_role("button", name="Last 100").click()
    search.fill("")
    expect(deep).to_be_hidden()
    look.page.locator("#log-box summary").click()
    log = look.page.get_by_label("Log of the server")
    expect(look.page.locator("#log-count")).to_have_text("Nothing has been logged since this page was opened.")
    look.predict("logged", text="what the log has")
    expect(log).to_contain_text("working on what the log has")
    record = log.locator("li", has_text="working on what the log has")
    expect(record.locator(".chip")).to_have_text("info")
    expect(record.locator(".when")).to_have_text(re.compile(r"^\d\d:\d\d:\d\d$"))
    expect(record.locator(".said")).to_have_text(re.compile(r"^working on what the log has .*worker=0 .*prediction_id=logged"))
    look.predict("raised", text="fail")
    level, text, count = (look.page.locator(f"#log-{part}") for part in ("level", "text", "count"))
    expect(log).to_contain_text("Traceback")
    look.audit("the log of the server, with a traceback")
    text.focus()
    look.page.keyboard.type("ID=logged")
    expect(log.locator("li:visible")).to_have_count(log.locator("li", has_text="prediction_id=logged").count())
    expect(record).to_be_visible()
    look.page.keyboard.press("Shift+Tab")
    expect(level).to_be_focused()
    look.page.keyboard.type("Errors")
    expect(count).to_have_text(re.compile("^0 of "))
    expect(log).to_be_hidden()
    look.audit("the log of the server")
