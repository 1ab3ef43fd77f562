"""Pinion's aims, with the measured figures."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from lib.results import PASS, Results
from lib.rows.loops import OPTIMUM
from lib.tables import title

OTHERS = (
    *("coglet", "coglet-async32", "mosec", "litserve", "bentoml"),
    *("fastapi", "fastapi-granian", "ray"),
)
Rows = dict[str, Results]


@dataclass
class Aim:
    """One line: found returns the figure and whether it meets the aim, or None if it was not measured."""

    what: str
    want: str
    found: Callable[[Rows], tuple[str, bool] | None]


def below(figure: float | None, most: float, unit: str, digits: int = 0) -> tuple[str, bool] | None:
    """Judge a figure that should be small."""
    return None if figure is None else (f"{figure:.{digits}f}{unit}", figure <= most)


def above(
    figure: float | None, least: float, unit: str = "", digits: int = 2
) -> tuple[str, bool] | None:
    """Judge a figure that should be large."""
    return None if figure is None else (f"{figure:.{digits}f}{unit}", figure >= least)


def added(key: str, most: float) -> Callable[[Rows], tuple[str, bool] | None]:
    """Return what Pinion adds to the bare handler's latency, in µs."""
    return lambda rows: below(
        rows["echo"].against("pinion", "bare", "1", key, "difference"), most, " µs"
    )


def share(
    row: str, peer: str, point: str, least: float
) -> Callable[[Rows], tuple[str, bool] | None]:
    """Return the share of the bare handler's rate."""
    return lambda rows: above(rows[row].against(peer, "bare", point, "rate"), least)


def ahead(rows: Rows) -> tuple[str, bool] | None:
    """Return the smallest factor by which Pinion leads, over all points and others."""
    r = rows["echo"]
    found = [
        (factor, title(other), point)
        for point in ("1", "8", "32", "64", "256")
        for other in OTHERS
        if (factor := faster(r, other, point)) is not None
    ]
    return (
        None
        if not found
        else ("at least {:.1f} times ({}, {} conn.)".format(*min(found)), min(found)[0] > 1)
    )


def five_times(rows: Rows) -> tuple[str, bool] | None:
    """Return Pinion's rate by that of the best other one, at 64 connections."""
    r = rows["echo"]
    found = [(f, title(other)) for other in OTHERS if (f := faster(r, other, "64")) is not None]
    return None if not found else ("{:.1f} times ({})".format(*min(found)), min(found)[0] >= 5)


def faster(r: Results, other: str, point: str) -> float | None:
    """Return the ratio of rates within rounds; of medians where the two ran in different passes."""
    found = r.against("pinion", other, point, "rate")
    if found is None:
        mine, theirs = r.median("pinion", point, "rate"), r.median(other, point, "rate")
        found = mine / theirs if mine and theirs else None
    return found


def processor(rows: Rows) -> tuple[str, bool] | None:
    """Return CPU time by the bare handler's, at 64 connections."""
    return below(rows["echo"].against("pinion", "bare", "64", "cpu"), 2, " times", 2)


def start(rows: Rows) -> tuple[str, bool] | None:
    """Return the time to READY beyond an interpreter's start."""
    ready = rows["start"].median("pinion", "rest", "ready")
    bare = rows["start"].median(PASS, "rest", "first")
    return None if ready is None or bare is None else below((ready - bare) * 1e3, 60, " ms more")


def idle(rows: Rows) -> tuple[str, bool] | None:
    """Return memory with the connections, all processes, and the rate that is left."""
    held, left = (
        rows["idle"].median("pinion", "held", "held"),
        rows["idle"].median("pinion", "held", "share"),
    )
    return (
        None
        if held is None or left is None
        else (f"{held:.0f} MiB, rate {left:.2f}", held <= 150 and left >= 0.95)
    )


def beside(rows: Rows) -> tuple[str, bool] | None:
    """Return the p99, with the bare handler's, and that of one with nothing else to do."""
    r = rows["beside"]
    mine, bare = (r.median(peer, "beside", "p99") for peer in ("pinion", "bare"))
    if mine is None or bare is None:
        return None
    idle = r.median("pinion", "machine", "p99")
    meanwhile = "" if idle is None else f"; of an idle one meanwhile: {idle / 1e3:.1f}"
    return f"{mine / 1e3:.1f} ms (the bare handler's: {bare / 1e3:.1f}{meanwhile})", mine <= 2000


def batch(point: str) -> Callable[[Rows], tuple[str, bool] | None]:
    """Return Pinion beside MOSEC with its best wait."""
    return lambda rows: above(
        rows["batch"].against("pinion", "mosec", point, "rate"), 1.3, " times"
    )


def optimum(point: str, least: float) -> Callable[[Rows], tuple[str, bool] | None]:
    """Return the share of the optimum, with the bare handler's."""

    def found(rows: Rows) -> tuple[str, bool] | None:
        mine, bare = (rows["batch"].median(peer, point, "rate") for peer in ("pinion", "bare"))
        if mine is None:
            return None
        best = OPTIMUM[int(point)] / 100
        beside = f" (the bare handler's: {bare / best:.1f})" if bare else ""
        return f"{mine / best:.1f} %{beside}", mine / best >= least

    return found


def network(point: str, model: str) -> Callable[[Rows], tuple[str, bool] | None]:
    """Return a model's rate with the network beside that of MOSEC where it is best, with any wait or without batches."""

    def found(rows: Rows) -> tuple[str, bool] | None:
        r = rows["onnx-batch"]
        ratios = [
            (ratio, title(peer))
            for peer in r.peers()
            if peer.startswith("mosec")
            and (ratio := r.against(model, peer, point, "rate")) is not None
        ]
        return (
            None
            if not ratios
            else ("{:.2f} times ({})".format(*min(ratios)), min(ratios)[0] >= 1.3)
        )

    return found


AIMS = [
    Aim("echo, 1 connection: median above the bare handler's", "≤ 15 µs", added("p50", 15)),
    Aim("echo, 1 connection: p99 above the bare handler's", "≤ 40 µs", added("p99", 40)),
    Aim(
        "echo, 64 connections, sync: share of the bare rate",
        "≥ 0.80",
        share("echo", "pinion", "64", 0.8),
    ),
    Aim("the same, async, one at a time", "≥ 0.80", share("echo", "pinion-async", "64", 0.8)),
    Aim("the same, async, 32 at once", "≥ 0.80", share("echo", "pinion-async32", "64", 0.8)),
    Aim("echo, any number of connections: rate beside every other server's", "> 1 times", ahead),
    Aim("echo, 64 connections: rate beside the best of the others", "≥ 5 times", five_times),
    Aim("1 MB bodies: share of the bare rate", "≥ 0.7", share("bodies", "pinion", "1 MB", 0.7)),
    Aim("10 MB bodies: share of the bare rate", "≥ 0.7", share("bodies", "pinion", "10 MB", 0.7)),
    Aim(
        "echo, 64 connections: CPU time of a request",
        "≤ 2 times the bare handler's",
        processor,
    ),
    Aim(
        "stream of 1 000 tokens: rate beside FastAPI's",
        "≥ 10 times",
        lambda rows: above(
            rows["stream"].against("pinion", "fastapi", "1000", "rate"), 10, " times", 1
        ),
    ),
    Aim(
        "front's memory at rest",
        "≤ 25 MiB",
        lambda rows: below(rows["start"].median("pinion", "rest", "front"), 25, " MiB", 1),
    ),
    Aim("start to READY, beyond `python3 -c pass`", "≤ 60 ms", start),
    Aim(
        "small request beside a 50 MB one, p99",
        "≤ 2 ms",
        beside,
    ),
    Aim("10 000 idle connections", "≤ 150 MiB, rate ≥ 0.95 of that before", idle),
    *(
        Aim(
            f"batches, {point} client{'s' * (point > '1')}: share of the optimum",
            f"≥ {least} %",
            optimum(point, least),
        )
        for point, least in (("1", 95), ("8", 85), ("32", 88), ("64", 95), ("256", 95))
    ),
    Aim("batches, 1 client: rate beside MOSEC's best", "≥ 1.3 times", batch("1")),
    Aim("batches, 64 clients: rate beside MOSEC's best", "≥ 1.3 times", batch("64")),
    *(
        Aim(
            f"network in batches, {what}, {point} connection{'s' * (point > '1')}: rate beside MOSEC's best",
            "≥ 1.3 times",
            network(point, model),
        )
        for model, what in (("pinion", "lists"), ("pinion-arrays", "arrays"))
        for point in ("1", "16", "64")
    ),
]
