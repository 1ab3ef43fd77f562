"""Looks at the pages of a server in a real browser: look.py BROWSER SCENE URL FOLDER; FOLDER is the model's.

A scene raises where the page is not as it should be. Beside what it asks for, in each of them nothing may be asked of another
host, no error may be on the console but what it expects, and no exception may be left over. PINION_TEST_PICTURES names a
folder in which it leaves pictures of the page as it is at the end.
"""

from __future__ import annotations

import os
import pathlib
import sys
from collections.abc import Callable

import change_scenes
import contrast_scenes
import form_scenes
import live_scenes
import output_scenes
import problem_scenes
import several_scenes
import try_scenes
from page import Look
from playwright.sync_api import Page, expect, sync_playwright

SIZES = {390: 844, 1440: 900, 1920: 1080}
# The browser has a camera and a microphone, which it lets pages use.
FLAGS = ["--disable-gpu", "--disable-dev-shm-usage", "--use-fake-device-for-media-stream", "--use-fake-ui-for-media-stream"]


def find(scene: str) -> Callable[[Look], None]:
    """Return the function of that name."""
    modules = (form_scenes, output_scenes, try_scenes, contrast_scenes, change_scenes, live_scenes, problem_scenes, several_scenes)
    for module in modules:
        if hasattr(module, scene):
            return getattr(module, scene)
    raise SystemExit(f"there is no scene {scene}")


def picture(page: Page, folder: pathlib.Path, scene: str) -> None:
    """Take the page in each size, light and dark."""
    folder.mkdir(parents=True, exist_ok=True)
    page.evaluate("delete document.documentElement.dataset.theme")  # which a scene may have chosen
    for width, height in SIZES.items():
        page.set_viewport_size({"width": width, "height": height})
        for scheme in ("light", "dark"):
            page.emulate_media(color_scheme=scheme)
            page.wait_for_timeout(300)  # transitions end, charts are drawn anew
            page.screenshot(path=folder / f"{scene}-{width}-{scheme}.png", full_page=True)


def main() -> None:
    browser, scene, url, folder = sys.argv[1:]
    arguments = ["--no-sandbox"] if os.geteuid() == 0 else []  # Chromium's sandbox refuses root
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=browser, args=[*arguments, *FLAGS])
        page = chromium.new_page()
        page.set_default_timeout(30_000)
        expect.set_options(timeout=30_000)
        look = Look(page, url, folder)
        try:
            find(scene)(look)
        except BaseException:
            print("the page says:", page.locator("body").inner_text()[:4000], file=sys.stderr)
            print(*look.faults, sep="\n", file=sys.stderr)
            raise
        if folder := os.environ.get("PINION_TEST_PICTURES"):
            picture(page, pathlib.Path(folder), scene)
        chromium.close()
    assert not look.faults, "\n".join(look.faults)


if __name__ == "__main__":
    main()
