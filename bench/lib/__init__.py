"""The benchmark of Pinion and its peers; bench/run.sh installs what it needs and starts it.

`peers/` has one file for each server, `rows/` one for each kind of work. A row starts its servers, checks that each
answers right and refuses wrong input, warms them up, and loads them in turn, round after round. What was measured is
kept in docs/reference/benchmarks/ROW.json; `page.py` makes docs/reference/benchmarks.md from these files.
"""
