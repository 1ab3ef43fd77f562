"""Draw the curves of the batching simulation: batching-simulation.py CSV SVG."""

from __future__ import annotations

import csv
import sys
from collections import defaultdict

import matplotlib

matplotlib.use("svg")
import matplotlib.pyplot as plt

PANELS = {
    "Poisson": ("Poisson arrivals", "load, share of the capacity", "mean latency, ms"),
    "bursts of 8": ("Bursts of 8", "load, share of the capacity", "mean latency, ms"),
    "closed": (
        "Clients that come back at once",
        "clients",
        "throughput, share of n/(5 ms + 0.1 ms·n)",
    ),
}
STYLES = {
    "clairvoyant": ("#999999", ":", 1.6),
    "2 ms": ("#56b4e9", "-", 1.2),
    "5 ms": ("#0072b2", "-", 1.2),
    "10 ms": ("#004466", "-", 1.2),
    "adaptive": ("#009e73", "-", 2.4),
    "no wait": ("#d55e00", "--", 1.6),
}


def read(path: str) -> dict[str, dict[str, list[tuple[float, float]]]]:
    """Read panel, policy, x, y."""
    curves: dict[str, dict[str, list[tuple[float, float]]]] = defaultdict(lambda: defaultdict(list))
    with open(path, newline="", encoding="utf-8") as file:
        for panel, policy, x, y in csv.reader(file):
            curves[panel][policy].append((float(x), float(y)))
    return curves


def draw(source: str, target: str) -> None:
    """Draw one panel beside the other."""
    plt.rcParams["svg.hashsalt"] = "batching"  # the same bytes for the same data
    plt.rcParams["svg.fonttype"] = "none"
    plt.rcParams["font.size"] = 9
    figure, axes = plt.subplots(1, len(PANELS), figsize=(13, 4), layout="constrained")
    curves = read(source)
    for axis, (panel, (title, xlabel, ylabel)) in zip(axes, PANELS.items(), strict=True):
        for policy, (color, line, width) in STYLES.items():
            if points := curves[panel].get(policy):
                axis.plot(
                    *zip(*points, strict=True),
                    color=color,
                    linestyle=line,
                    linewidth=width,
                    label=policy,
                )
        axis.set(title=title, xlabel=xlabel, ylabel=ylabel, ylim=(0, None))
        axis.grid(alpha=0.25)
        if panel == "closed":
            axis.set_xscale("log", base=2)
            axis.set_xticks(
                [1, 2, 4, 8, 16, 32, 64, 128], ["1", "2", "4", "8", "16", "32", "64", "128"]
            )
    handles, labels = axes[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=len(labels), frameon=False)
    figure.suptitle("A batch of n costs 5 ms + 0.1 ms·n, at most 32")
    figure.savefig(target, metadata={"Date": None})


if __name__ == "__main__":
    draw(sys.argv[1], sys.argv[2])
