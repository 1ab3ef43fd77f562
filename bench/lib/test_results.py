"""A partial run must leave the results of others: python3 -m unittest discover bench/lib -t bench."""

from __future__ import annotations

import tempfile
import unittest
from pathlib import Path
from typing import Any

from lib import aims, options, tables
from lib.results import Results
from lib.rows import ALL as ROWS


def sample(peer: str, rate: float, turn: int = 0) -> dict[str, Any]:
    return {"peer": peer, "point": "64", "round": turn, "rate": rate}


def about(**notes: str) -> dict[str, Any]:
    return {"notes": notes}


class ResultsTest(unittest.TestCase):
    def setUp(self) -> None:
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.results = Results(Path(self.folder.name) / "echo.json")
        first = [sample("bare", 100), sample("pinion", 50), sample("mosec", 10)]
        self.results.add("1", about(ray="no room"), first, "bare")

    def test_a_partial_run_replaces_only_its_peers(self) -> None:
        self.results.add("2", about(), [sample("bare", 1000), sample("pinion", 800)], "bare")
        against = {
            p: self.results.against(p, "bare", "64", "rate") for p in ("pinion", "mosec", "bare")
        }
        self.assertEqual(against, {"pinion": 0.8, "mosec": 0.1, "bare": 1})
        self.assertEqual(self.results.median("bare", "64", "rate"), 1000)
        self.assertEqual(self.results.notes(), {"ray": "no room"})

    def test_a_run_that_nobody_is_left_of_goes(self) -> None:
        again = [sample("bare", 7), sample("pinion", 7), sample("mosec", 7)]
        self.results.add("2", about(), again, "bare")
        self.assertEqual(list(self.results.runs), ["2"])
        self.assertEqual(len(self.results.samples), 3)

    def test_what_is_saved_is_read(self) -> None:
        self.results.save()
        again = Results(self.results.path)
        self.assertEqual((again.samples, again.runs), (self.results.samples, self.results.runs))

    def test_ratios_are_of_the_same_round(self) -> None:
        rounds = [sample("bare", 100, 0), sample("pinion", 50, 0)]
        rounds += [sample("bare", 10, 1), sample("pinion", 5, 1)]
        self.results.add("2", about(), rounds, "bare")
        self.assertEqual(self.results.against("pinion", "bare", "64", "rate"), 0.5)
        self.assertEqual(self.results.against("pinion", "bare", "64", "rate", "difference"), -27.5)


class PageTest(unittest.TestCase):
    def test_rows_and_aims_have_words_for_nothing(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            empty = {name: Results(Path(folder) / f"{name}.json") for name in ROWS}
            for name, row in ROWS.items():
                self.assertTrue(row(options.read([], [], [])).report(empty[name]))
            for aim in aims.AIMS:
                self.assertIsNone(aim.found(empty), aim.what)

    def test_numbers(self) -> None:
        said = [tables.number(n) for n in (None, 0.01234, 12.34, 123.4, 12345.6)]
        self.assertEqual(said, ["", "0.0123", "12.3", "123", "12 346"])


if __name__ == "__main__":
    unittest.main()
