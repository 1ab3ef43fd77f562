"""The scene about contrast, light and dark."""

from __future__ import annotations

from page import Look

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
            look.run()
            look.ends(status)
            look.page.evaluate("document.querySelectorAll('details').forEach((e) => (e.open = true))")
            found = look.page.evaluate(CONTRAST)
            assert not found["faults"], f"{scheme}, {status}: " + "\n".join(found["faults"])
            assert found["looked"] > 40, found
        look.page.get_by_role("button", name="Reset").click()
