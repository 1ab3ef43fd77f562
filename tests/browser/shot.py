"""Takes pictures of the pages for the documents: shot.py BROWSER URL SEVERAL FOLDER. URL serves the Painter
of models/live.py, SEVERAL the models of examples/pipeline and its Writer."""

from __future__ import annotations

import os
import pathlib
import random
import sys
import threading
import urllib.request

from playwright.sync_api import Page, expect, sync_playwright

CLIENTS = 6
SECONDS = 75  # for which the live view has something to draw
PROMPTS = ["a red fox in the snow", "a harbour at dawn", "two owls", "an orchard in May"]


def predict(url: str, prompt: str) -> None:
    """Make a prediction."""
    body = f'{{"input": {{"prompt": "{prompt}"}}}}'.encode()
    urllib.request.urlopen(urllib.request.Request(url + "/predictions", body, {"Content-Type": "application/json"})).read()


def load(url: str, end: threading.Event) -> None:
    """Make one prediction after the other, a few of which fail."""
    while not end.wait(random.random() / 5):
        predict(url, "" if random.random() < 0.01 else random.choice(PROMPTS))


TELEPHONE = {"width": 390, "height": 844}


def on_telephone(page: Page, file: pathlib.Path, height: int = TELEPHONE["height"]) -> None:
    """Take the upper part of the same page as a telephone shows it."""
    page.set_viewport_size(TELEPHONE)
    page.wait_for_timeout(1000)  # the charts are drawn anew
    page.screenshot(path=file.with_stem(file.stem + "-phone"), clip={"x": 0, "y": 0, "width": TELEPHONE["width"], "height": height})


def docs(page: Page, url: str, file: pathlib.Path) -> None:
    """Take the page at /docs after a run."""
    page.goto(url + "/docs")
    page.get_by_role("button", name="Run").click()
    expect(page.locator("#output img")).to_be_visible()
    page.locator("#result").evaluate("e => document.activeElement.blur()")
    page.screenshot(path=file)
    page.set_viewport_size(TELEPHONE)
    page.locator("#result").evaluate("e => e.scrollIntoView()")
    on_telephone(page, file, 530)


def dashboard(page: Page, url: str, file: pathlib.Path) -> None:
    """Take the live view under load."""
    end = threading.Event()
    clients = [threading.Thread(target=load, args=(url, end)) for _ in range(CLIENTS)]
    for client in clients:
        client.start()
    try:
        page.goto(url + "/dashboard")
        page.wait_for_timeout(SECONDS * 1000)
        page.screenshot(path=file)
        on_telephone(page, file)
    finally:
        end.set()
        for client in clients:
            client.join()


PASSAGES = b"Operators may stop the server.\n\nClients may cancel their predictions.\n\nTrains leave at noon."


def several(page: Page, url: str, folder: pathlib.Path) -> None:
    """Take what the pages show of a server of several models: rank, decode, embed of examples/pipeline, and the writer."""
    page.goto(url + "/docs")
    page.locator("#in-question").fill("who may stop the server")
    page.locator(".field[data-name=document] input[type=file]").set_input_files({"name": "handbook.txt", "mimeType": "text/plain", "buffer": PASSAGES})
    page.get_by_role("button", name="Run").click()
    expect(page.locator("#calls li").first).to_be_visible()
    page.set_viewport_size({"width": 1280, "height": 670})
    page.locator("#side").screenshot(path=folder / "calls.png")
    page.set_viewport_size({"width": 1280, "height": 900})
    writes = url + "/models/writer"
    for subject in ["the sea", "foxes", "snow", "May", "owls"] * 4:
        stream(writes, subject, "")
    stream(writes, "everything", "long-one")
    page.goto(writes + "/dashboard")
    problem = page.locator(".problem", has_text="seems stuck")
    expect(problem).to_be_visible(timeout=60_000)
    problem.get_by_role("button", name="Python stack").click()
    expect(problem.locator("pre")).to_contain_text("look_up")
    problem.locator("pre").evaluate("e => (e.textContent = e.textContent.replaceAll(/[^\"]+(?=\\/writer\\/)/g, '/srv/models'))")  # for the test's folder
    page.locator("#log-box summary").click()
    page.locator("#problems").screenshot(path=folder / "dashboard-stuck.png")
    page.locator(".breakdowns").screenshot(path=folder / "dashboard-tokens.png")
    page.request.post(url + "/models/embed/unload")
    page.request.post(writes + "/predictions", data={"input": {}, "webhook": url + "/nowhere", "webhook_events_filter": ["completed"]})
    expect(page.locator("#models-box")).to_contain_text("unloaded")
    expect(page.locator("#models-box")).to_contain_text("1 lost")
    page.locator("#models-box").screenshot(path=folder / "dashboard-models.png")
    expect(page.locator("#log")).to_contain_text("unloaded")
    page.locator("section", has=page.locator("#log-box")).screenshot(path=folder / "dashboard-log.png")
    page.request.post(writes + "/predictions/long-one/cancel")


def stream(url: str, subject: str, id: str) -> None:
    """Read a stream to its end; with an id, do not wait for its end."""
    headers = {"Content-Type": "application/json", "Accept": "text/event-stream"}
    method, path = ("PUT", "/predictions/" + id) if id else ("POST", "/predictions")
    if id:
        headers = {"Content-Type": "application/json", "Prefer": "respond-async"}
    body = f'{{"input": {{"subject": "{subject}"}}}}'.encode()
    urllib.request.urlopen(urllib.request.Request(url + path, body, headers, method=method)).read()


def main() -> None:
    browser, url, several_url, folder = sys.argv[1:]
    arguments = ["--no-sandbox"] if os.geteuid() == 0 else []  # Chromium's sandbox refuses root
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=browser, args=[*arguments, "--disable-gpu", "--disable-dev-shm-usage"])
        page = chromium.new_page(viewport={"width": 1280, "height": 900})
        expect.set_options(timeout=30_000)
        dashboard(page, url, pathlib.Path(folder, "dashboard.png"))
        page.set_viewport_size({"width": 1280, "height": 760})
        docs(page, url, pathlib.Path(folder, "page.png"))
        page.set_viewport_size({"width": 1280, "height": 900})
        several(page, several_url, pathlib.Path(folder))
        chromium.close()


if __name__ == "__main__":
    main()
