"""The page: docs/reference/benchmarks.md, and its plots, from what was measured."""

from __future__ import annotations

import os
from typing import Any

from lib import aims, plot, tables
from lib.options import Options
from lib.results import Results
from lib.rows import ALL
from lib.rows.base import Row

HEAD = """\
# Measured beside other servers

    bench/run.sh

measured these figures and wrote this page. It installs the other servers in the versions that `bench/peers/*/requirements.txt` pins, each in its own
environment (`.cache/bench`). It checks that each server answers correctly, loads them in turn, keeps every sample in
`docs/reference/benchmarks/ROW.json`, and makes these tables. A full run takes about half an hour. You can choose rows, servers and length:

    bench/run.sh --rows echo,bodies --peers pinion,mosec --rounds 5 --seconds 5

A new measurement of a row replaces its part of the page. `bench/run.sh --help` lists rows and servers.

## How to read it

* **Ratios, not rates.** Clients and servers share the CPUs, so absolute figures belong to this machine. The servers of a row run at the same time. Each round
  loads each server once, in turn. A ratio is the median of the ratios of the rounds. (Ray Serve uses CPU when idle, so it is measured afterwards, with the
  baseline again.)
* **The baseline** is `bench/bare`: a fasthttp handler that decodes the same JSON with sonic and answers the same prediction object as Pinion. It has no
  worker, no queue and no Python.
* **Correct answers only.** Before a load, each server must refuse inputs of a wrong type and answer 64 different requests at once, each with its own
  answer. Every answer under load is checked. One wrong answer excludes the server from the row, and the row says so.
* **409, 429 and 503 do not count** as answers; their share is shown. coglet has no queue. It answers 409 when its slots are busy, and briefly after each
  answer, because it frees a slot after it has sent. Its rates at several connections count correct answers; its latencies are mostly those of refusals.
* **The same for all**: one worker process (unless a row says two), one thread for onnxruntime, access logs off, the same Python, validated inputs (Pinion,
  coglet: the schema; FastAPI, LitServe, BentoML, Ray Serve: pydantic's strict types; MOSEC: msgspec), a warm-up before each row. FastAPI's model runs in the
  server's process, without isolation.
* **Settings that differ from a server's defaults**: Pinion and MOSEC have queues of 1 024 (MOSEC's default). MOSEC's limits of 3 s and 10 MiB and the time
  limits of LitServe and BentoML are raised. Ray Serve may have 256 requests in progress. uvicorn uses uvloop and httptools, granian uvloop.
* **What favours Pinion**: its authors chose the rows, wrote the services of the others, and know Pinion's settings best. The services are in `bench/peers`,
  a few dozen lines each; corrections are welcome.
"""

AIMS = """\
What Pinion's authors want to reach. The tables below have the figures. *The bare handler* is the baseline above. A negative difference means that Pinion is
faster than the baseline: with one connection it polls its sockets before it sleeps ([busy-polling](../experiments.md#busy-polling))."""


def write(options: Options) -> None:
    """Write the page and its plots."""
    rows = {name: ALL[name](options) for name in ALL}
    results = {name: Results(options.results / f"{name}.json") for name in ALL}
    lines = [HEAD, *wanted(results)]
    for name, row in rows.items():
        if results[name].samples:
            lines += section(row, results[name], options)
    options.page.write_text("\n".join(lines).rstrip() + "\n", encoding="utf-8")


def wanted(results: dict[str, Results]) -> list[str]:
    """Return the table of aims."""
    lines = ["## Aims", "", AIMS, "", "| Pinion | aim | measured | |", "|---|---|---|---|"]
    for aim in aims.AIMS:
        found = aim.found(results)
        figure, well = found or ("not measured", False)
        lines.append(
            f"| {aim.what} | {aim.want} | {figure} | {'' if not found else 'met' if well else '**missed**'} |"
        )
    return [*lines, ""]


def section(row: Row, results: Results, options: Options) -> list[str]:
    """Return a row's part of the page."""
    lines = [f"## {row.title}", "", f"    bench/run.sh --rows {row.name}", "", row.text, ""]
    lines += row.report(results)
    for name, data in row.plots(results).items():
        picture = options.results / f"{name}.svg"
        plot.draw(data, picture)
        lines += [f"![{row.title}]({os.path.relpath(picture, options.page.parent)})", ""]
    for peer, why in sorted(results.notes().items()):
        lines += [f"Left out: {tables.title(peer)} ({first_line(why)}).", ""]
    for when, run in sorted(results.runs.items()):
        lines += [about(when, run, several=len(results.runs) > 1), ""]
    return lines


def first_line(text: str) -> str:
    """Return what a table can hold."""
    return " ".join(text.split())[:300]


def about(when: str, run: dict[str, Any], several: bool) -> str:
    """Say when, where and with what a run was made."""
    versions = "; ".join(
        f"{tables.title(p)}: {v}"
        for p, v in sorted(run["versions"].items(), key=lambda i: tables.place(i[0]))
        if v
    )
    who = "This run" if several else "Measured"
    load = f"load average {run['load before']} before and {run['load after']} after"
    return (
        f"<sub>{who} {when}: {run['machine']}, {run['system']}, {run['python']}, {run['wrk']}; {run['rounds']} rounds of {run['seconds']} s, "
        f"{run['took']} s in all; pinned: {run['pinned']}; {load}. {versions}.</sub>"
    )
