"""The results: one file for each row, from which the page is made."""

from __future__ import annotations

import json
import statistics
from pathlib import Path
from typing import Any

Sample = dict[str, Any]
PASS = "python3 -c pass"  # measured beside each run, no server


class Results:
    """The samples of one row, perhaps of several runs: a run of some peers replaces only theirs."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.samples: list[Sample] = []
        self.runs: dict[str, dict[str, Any]] = {}
        if path.exists():
            data = json.loads(path.read_text())
            self.samples, self.runs = data["samples"], data["runs"]

    def add(self, run: str, about: dict[str, Any], samples: list[Sample], baseline: str) -> None:
        """Add a run, which replaces earlier results of its peers.

        An older run's baseline stays as long as the run has others: their ratios are to that one.
        """
        fresh = {s["peer"] for s in samples} | set(about["notes"])
        kept = [s for s in self.samples if s["peer"] not in fresh or s["peer"] == baseline]
        used = {s["run"] for s in kept if s["peer"] not in (baseline, PASS)}
        self.samples = [s for s in kept if s["run"] in used] + [{"run": run, **s} for s in samples]
        self.runs = {name: known for name, known in self.runs.items() if name in used}
        for known in self.runs.values():
            for peer in fresh:
                known["notes"].pop(peer, None)
        self.runs[run] = about

    def save(self) -> None:
        """Write the file, a sample a line."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        lines = ",\n".join("  " + json.dumps(s, sort_keys=True) for s in self.samples)
        runs = json.dumps(self.runs, indent=1, sort_keys=True, ensure_ascii=False)
        self.path.write_text(f'{{"runs": {runs},\n"samples": [\n{lines}\n]}}\n')

    def peers(self) -> list[str]:
        """Return who was measured."""
        return list(dict.fromkeys(s["peer"] for s in self.samples))

    def notes(self) -> dict[str, str]:
        """Return why others were not."""
        return {p: why for run in self.runs.values() for p, why in run["notes"].items()}

    def values(self, peer: str, point: str, key: str) -> list[float]:
        """Return one figure of all rounds; of the bare server, of the latest run."""
        found = [s for s in self.samples if s["peer"] == peer and s["point"] == point and key in s]
        last = found[-1]["run"] if found else ""
        found = [s for s in found if s["run"] == last]
        first = found[0].get("pass", 0) if found else 0
        return [s[key] for s in found if s.get("pass", 0) == first]

    def median(self, peer: str, point: str, key: str) -> float | None:
        """Return the median of the rounds."""
        found = self.values(peer, point, key)
        return statistics.median(found) if found else None

    def spread(self, peer: str, point: str, key: str) -> float:
        """Return half of the range of the rounds, as a share of the median."""
        found = self.values(peer, point, key)
        middle = statistics.median(found) if found else 0
        return (max(found) - min(found)) / 2 / middle if middle else 0

    def against(
        self, peer: str, other: str, point: str, key: str, how: str = "ratio"
    ) -> float | None:
        """Return the median over the rounds of peer's figure by other's (or minus it) in the same round."""
        theirs = {
            (s["run"], s.get("pass", 0), s["round"]): s[key]
            for s in self.samples
            if s["peer"] == other and s["point"] == point and key in s
        }
        found = []
        for s in self.samples:
            place = (s["run"], s.get("pass", 0), s.get("round"))
            if s["peer"] == peer and s["point"] == point and key in s and place in theirs:
                if how == "difference":
                    found.append(s[key] - theirs[place])
                elif theirs[place]:
                    found.append(s[key] / theirs[place])
        return statistics.median(found) if found else None
