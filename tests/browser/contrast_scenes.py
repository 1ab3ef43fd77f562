"""Scenes about what can be seen and used by all: contrast, and what axe-core checks, light and dark."""

from __future__ import annotations

from collections.abc import Iterator

from page import Look
from playwright.sync_api import expect

# Returns what has less contrast than WCAG 2.1 AA asks for: text by 1.4.3, the edges of inputs by 1.4.11.
CONTRAST = """() => {
    const channels = (color) => color.match(/[\\d.]+/g).map(Number);
    const light = (c) => c.slice(0, 3).map((v) => v / 255)
        .map((v) => v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4)
        .reduce((sum, v, i) => sum + v * [0.2126, 0.7152, 0.0722][i], 0);
    const ratio = (a, b) => { const [x, y] = [light(a), light(b)].sort((p, q) => q - p); return (x + 0.05) / (y + 0.05) };
    const behind = (e) => {
        for (; e; e = e.parentElement) {
            const c = channels(getComputedStyle(e).backgroundColor);
            if (c.length < 4 || c[3] > 0) return c;
        }
        return [255, 255, 255];
    };
    const faults = [];
    let looked = 0;
    for (const e of document.querySelectorAll("body *")) {
        if (!e.checkVisibility() || e.closest("[aria-disabled=true], .unseen, .skip, noscript, option, svg")) continue;
        const style = getComputedStyle(e);
        const says = [...e.childNodes].some((n) => n.nodeType === 3 && n.textContent.trim());
        if (says || e.matches("input, textarea, select")) {
            looked++;
            const found = ratio(channels(style.color), behind(e));
            if (found < 4.5) faults.push(`${e.outerHTML.slice(0, 120)}: ${found.toFixed(2)}`);
        }
        if (e.placeholder && ratio(channels(getComputedStyle(e, "::placeholder").color), behind(e)) < 4.5) faults.push(`placeholder of ${e.id}`);
        if (e.matches("input:not([type=checkbox], [type=radio], [type=range], [type=file]), textarea, select, button.plain")) {
            if (e.closest("#history, [role=tab]")) continue;
            const found = ratio(channels(style.borderTopColor), behind(e.parentElement));
            if (found < 3) faults.push(`edge of ${e.id || e.outerHTML.slice(0, 80)}: ${found.toFixed(2)}`);
        }
    }
    return { faults, looked };
}"""


def contrast(look: Look) -> None:
    """Text and edges have the contrast of WCAG AA, light and dark, in every state."""
    look.refusals = [422]
    for scheme in ("light", "dark"):
        look.page.emulate_media(color_scheme=scheme)
        look.load()
        for status, prompt in (("refused", None), ("succeeded", "a cat"), ("failed", "fail")):
            if prompt is None:
                look.input("steps").fill("77")
            else:
                look.input("prompt").fill(prompt)
                look.input("steps").fill("7")
            look.runs(status)
            look.page.evaluate("document.querySelectorAll('details').forEach((e) => (e.open = true))")
            found = look.page.evaluate(CONTRAST)
            assert not found["faults"], f"{scheme}, {status}: " + "\n".join(found["faults"])
            assert found["looked"] > 40, found
        look.page.get_by_role("button", name="Reset").click()


def looks(look: Look) -> Iterator[tuple[str, int]]:
    """Show the page light and dark at each width."""
    for scheme in ("light", "dark"):
        look.page.emulate_media(color_scheme=scheme)
        for width, height in ((390, 844), (1440, 900), (1920, 1080)):
            look.page.set_viewport_size({"width": width, "height": height})
            yield scheme, width


def passes(look: Look, what: str, width: int) -> None:
    """Check the page with axe-core, and that it needs no scrolling sideways."""
    look.audit(what)
    assert look.page.evaluate("document.documentElement.scrollWidth") <= width, f"{what}: wider than {width}"


def audited_tabs(look: Look) -> None:
    """Each tab passes axe-core at each width, light and dark."""
    look.load()
    expect(look.page.locator(".field").first).to_be_visible()
    look.runs()
    for scheme, width in looks(look):
        for name in look.page.get_by_role("tab").all_text_contents():
            look.tab(name)
            passes(look, f"{scheme}, {width}, {name}", width)


def audited_talk(look: Look) -> None:
    """A conversation passes axe-core, with an answer, a stopped one and an error."""
    look.load()
    message = look.page.get_by_label("Message", exact=True)
    for text, status in (("first", "succeeded"), ("wait", "canceled"), ("fail", "failed")):
        message.fill(text)
        message.press("Enter")
        if status == "canceled":
            expect(look.page.locator(".bubble").last).to_contain_text("messages before")
            look.page.locator("#halt").click()
        look.ends(status)
    for scheme, width in looks(look):
        passes(look, f"{scheme}, {width}", width)


def audited_dialogs(look: Look) -> None:
    """The README and an enlarged picture pass axe-core."""
    look.load()
    look.runs()
    for opens in (look.page.get_by_role("button", name="README"), look.page.locator(".enlarge").first):
        opens.click()
        for scheme, width in looks(look):
            passes(look, f"{scheme}, {width}, {opens}", width)
        look.page.keyboard.press("Escape")


def audited_token(look: Look) -> None:
    """The dialog that asks for a token passes axe-core, at first and after a wrong one. It hides the rest of the page."""
    look.refusals = [401]
    ask = look.page.locator("#token-dialog")
    for path, reason in (("/docs", "requires a token"), ("/docs", "rejected that token"), ("/dashboard", "rejected that token")):
        if path not in look.page.url:
            look.load(path)
        expect(ask).to_contain_text(reason)
        for scheme, width in looks(look):
            look.audit(f"{path}, {reason}, {scheme}, {width}", least=8)
        look.give_token("another token")


def theme(look: Look) -> None:
    """The theme is that of the system, or what the switch says, also after a reload and in the live view."""
    look.page.emulate_media(color_scheme="light")
    look.load()
    back = "() => getComputedStyle(document.documentElement).backgroundColor"
    light = look.page.evaluate(back)
    look.page.get_by_role("button", name="Theme: system").click()
    look.page.get_by_role("button", name="Theme: light").click()
    expect(look.page.get_by_role("button", name="Theme: dark")).to_be_visible()
    dark = look.page.evaluate(back)
    assert dark != light
    look.page.reload()
    assert look.page.evaluate(back) == dark
    look.load("/dashboard")
    assert look.page.evaluate(back) == dark
    look.page.get_by_role("button", name="Theme: dark").click()
    assert look.page.evaluate(back) == light
