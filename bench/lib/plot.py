"""Plots as SVG."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("svg")
import matplotlib.pyplot as plt

from lib.tables import title

COLORS = {
    "bare": "#999999",
    "pinion": "#009e73",
    "pinion-async": "#66c2a5",
    "pinion-async32": "#1b7837",
    "coglet": "#d55e00",
    "coglet-async32": "#f4a582",
    "mosec": "#0072b2",
    "mosec-1ms": "#4393c3",
    "mosec-2ms": "#92c5de",
    "mosec-single": "#08306b",
    "litserve": "#cc79a7",
    "bentoml": "#e69f00",
    "fastapi": "#56b4e9",
    "fastapi-granian": "#1f78b4",
    "ray": "#7b3294",
    "ventu": "#8c510a",
    "pinion-batching": "#a6d854",
}


def draw(data: dict[str, Any], target: Path) -> None:
    """Draw panels with logarithmic axes; a band is the range of the rounds."""
    plt.rcParams["svg.hashsalt"] = target.stem  # the same bytes for the same data
    plt.rcParams["svg.fonttype"] = "none"
    plt.rcParams["font.size"] = 9
    panels = data["panels"]
    figure, axes = plt.subplots(
        1, len(panels), figsize=(6 * len(panels), 4.2), layout="constrained"
    )
    for axis, panel in zip(axes, panels, strict=True):
        ticks = set()
        for peer, line in panel["lines"].items():
            x, middle, least, most = zip(*line, strict=True)
            width = 2.2 if peer.startswith("pinion") else 1.3
            color = COLORS.get(peer, "#000000")
            axis.plot(x, middle, color=color, linewidth=width, marker=".", label=title(peer))
            axis.fill_between(x, least, most, color=color, alpha=0.12, linewidth=0)
            ticks.update(x)
        axis.set(xscale="log", yscale="log", xlabel=data["x"], ylabel=panel["label"])
        axis.set_xticks(sorted(ticks), [f"{t:g}" for t in sorted(ticks)], minor=False)
        axis.minorticks_off()
        axis.grid(alpha=0.25)
    handles, labels = axes[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=5, frameon=False)
    target.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(target, metadata={"Date": None})
    plt.close(figure)
