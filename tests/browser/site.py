"""Looks at each page of the documents' site: site.py BROWSER FOLDER. Prints what is cut, and pages whose code has no colours."""

from __future__ import annotations

import os
import pathlib
import sys

from playwright.sync_api import sync_playwright

CUT = """() => {
  const cut = [];
  if (document.documentElement.scrollWidth > innerWidth) cut.push("the page is wider than the window");
  if (innerWidth >= 1440)
    for (const e of document.querySelectorAll(".md-content :is(pre, pre > code, table, td, img, .md-typeset__table, .md-typeset__scrollwrap)"))
      if (e.scrollWidth > e.clientWidth + 1 && getComputedStyle(e).display !== "inline")
        cut.push(e.tagName + " " + e.innerText.slice(0, 60));
  return cut;
}"""


def main() -> None:
    browser, folder = sys.argv[1:]
    arguments = ["--no-sandbox"] if os.geteuid() == 0 else []  # Chromium's sandbox refuses root
    with sync_playwright() as playwright:
        page = playwright.chromium.launch(executable_path=browser, args=arguments).new_page()
        for file in sorted(pathlib.Path(folder).rglob("index.html")):
            page.goto(file.as_uri(), wait_until="load")
            for width in (390, 1440, 1920):
                page.set_viewport_size({"width": width, "height": 900})
                for cut in page.evaluate(CUT):
                    print(f"{file.relative_to(folder)} at {width}: {cut}")
            if "from cog import" in page.inner_text("body") and not page.locator(".highlight .kn").count():
                print(f"{file.relative_to(folder)}: Python without colours")


main()
