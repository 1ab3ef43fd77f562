"""Tables in Markdown, and the data of plots, from results."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from lib.peers import ALL
from lib.results import Results

Cell = Callable[[str, str], str]
NONE = ""


def title(peer: str) -> str:
    """Return how the page calls a server."""
    return ALL[peer].title if peer in ALL else peer


def grid(
    results: Results,
    points: Sequence[str],
    heads: Sequence[str],
    cell: Cell,
    skip: tuple[str, ...] = (),
) -> list[str]:
    """Return a table: a line a server, a column a point."""
    lines = ["| | " + " | ".join(heads) + " |", "|---|" + "---|" * len(heads)]
    for peer in sorted(results.peers(), key=place):
        cells = [cell(peer, point) for point in points]
        if peer not in skip and any(cells):
            lines.append(f"| {title(peer)} | " + " | ".join(cells) + " |")
    return [*lines, ""]


def rates(
    r: Results,
    points: Sequence[str],
    heads: Sequence[str],
    about: str = "Correct answers a second:",
) -> list[str]:
    """Return a table of rates."""
    return [about, "", *grid(r, points, heads, lambda p, c: rate(r, p, c))]


def shares(
    r: Results, points: Sequence[str], heads: Sequence[str], skip: tuple[str, ...] = ()
) -> list[str]:
    """Return a table of rates by the bare handler's."""
    about = "Share of the bare handler's rate in the same round:"
    return [about, "", *grid(r, points, heads, lambda p, c: ratio(r, p, c, "rate"), skip)]


def multiples(r: Results, points: Sequence[str], heads: Sequence[str]) -> list[str]:
    """Return a table of Pinion's rate by each server's."""
    about = "Pinion's rate as a multiple of theirs in the same round:"
    return [about, "", *grid(r, points, heads, lambda p, c: times(r, p, c, "rate"), ("pinion",))]


def latencies(
    r: Results,
    points: Sequence[str],
    heads: Sequence[str],
    about: str = "Median and 99th percentile, ms:",
) -> list[str]:
    """Return a table of two times each."""
    return [about, "", *grid(r, points, heads, lambda p, c: latency(r, p, c))]


def place(peer: str) -> int:
    """Return a server's place in tables."""
    return list(ALL).index(peer) if peer in ALL else -1


def number(value: float | None, unit: str = "") -> str:
    """Write a number with three figures that count."""
    if value is None:
        return NONE
    if abs(value) >= 100:
        return f"{value:,.0f}".replace(",", " ") + unit
    return f"{value:.3g}{unit}"


def rate(results: Results, peer: str, point: str) -> str:
    """Write a rate, its spread, and what share was refused."""
    value = results.median(peer, point, "rate")
    if value is None:
        return NONE
    refused = results.median(peer, point, "refused") or 0
    more = f", {refused:.0%} refused" if refused >= 0.005 else ""
    rounds = len(results.values(peer, point, "rate"))
    spread = f" ±{results.spread(peer, point, 'rate'):.0%}" if rounds > 1 else ""
    return f"{number(value)}{spread}{more}"


def ratio(results: Results, peer: str, point: str, key: str, other: str = "bare") -> str:
    """Write a ratio within the rounds."""
    value = results.against(peer, other, point, key)
    return NONE if value is None else f"{value:.2f}" if value >= 0.1 else f"{value:.2g}"


def latency(results: Results, peer: str, point: str) -> str:
    """Write p50 / p99 in ms."""
    p50, p99 = results.median(peer, point, "p50"), results.median(peer, point, "p99")
    return NONE if p50 is None or p99 is None else f"{number(p50 / 1e3)} / {number(p99 / 1e3)}"


def value(results: Results, peer: str, point: str, key: str, scale: float = 1) -> str:
    """Write a median."""
    found = results.median(peer, point, key)
    return NONE if found is None else number(found * scale)


def curve(
    results: Results, points: Sequence[str], key: str, label: str, scale: float = 1
) -> dict[str, object]:
    """Return a plot's panel: for each server x, median, least and greatest."""
    lines = {}
    for peer in sorted(results.peers(), key=place):
        line = []
        for point in points:
            found = results.values(peer, point, key)
            if found:
                middle = results.median(peer, point, key) or 0
                line.append((float(point), middle * scale, min(found) * scale, max(found) * scale))
        if line:
            lines[peer] = line
    return {"label": label, "lines": lines}


def times(results: Results, peer: str, point: str, key: str) -> str:
    """Write how many times a server's figure Pinion's is, within the rounds."""
    found = results.against("pinion", peer, point, key)
    return NONE if found is None else number(found)
