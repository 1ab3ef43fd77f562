"""Takes pictures of the pages for the documents: shot.py BROWSER URL FOLDER. The model is models/live.py:Painter."""

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


def on_telephone(page: Page, file: pathlib.Path) -> None:
    """Take the same page as a telephone shows it."""
    page.set_viewport_size(TELEPHONE)
    page.wait_for_timeout(1000)  # the charts are drawn anew
    page.screenshot(path=file.with_stem(file.stem + "-phone"))


def docs(page: Page, url: str, file: pathlib.Path) -> None:
    """Take the page at /docs after a run."""
    page.goto(url + "/docs")
    page.get_by_role("button", name="Run").click()
    expect(page.locator("#output img")).to_be_visible()
    page.locator("#result").evaluate("e => document.activeElement.blur()")
    page.screenshot(path=file)
    page.set_viewport_size(TELEPHONE)
    page.locator("#result").evaluate("e => e.scrollIntoView()")
    on_telephone(page, file)


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


def main() -> None:
    browser, url, folder = sys.argv[1:]
    arguments = ["--no-sandbox"] if os.geteuid() == 0 else []  # Chromium's sandbox refuses root
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=browser, args=[*arguments, "--disable-gpu", "--disable-dev-shm-usage"])
        page = chromium.new_page(viewport={"width": 1280, "height": 900})
        expect.set_options(timeout=30_000)
        dashboard(page, url, pathlib.Path(folder, "dashboard.png"))
        page.set_viewport_size({"width": 1280, "height": 900})
        docs(page, url, pathlib.Path(folder, "page.png"))
        chromium.close()


if __name__ == "__main__":
    main()
