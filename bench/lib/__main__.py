"""Measure rows, and write the page."""

from __future__ import annotations

import resource
import signal
import sys
import time

from lib import machine, options, page
from lib.peers import ALL as PEERS
from lib.results import Results
from lib.rows import ALL as ROWS
from lib.rows.base import say


def main() -> None:
    """Measure row by row; what was measured before an interruption is kept."""
    chosen = options.read(list(ROWS), list(PEERS))
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # as Ctrl-C: the servers are ended
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))  # for the row with idle connections
    for name in chosen.rows:
        began = time.time()
        row = ROWS[name](chosen)
        about = machine.about(chosen)
        row.run()
        names = sorted({s["peer"] for s in row.samples} & set(PEERS))
        about["versions"] = {name: PEERS[name].version(chosen) for name in names}
        about["notes"], about["took"] = row.notes, round(time.time() - began)
        about["load after"] = machine.load_average()
        results = Results(chosen.results / f"{name}.json")
        results.add(
            f"{time.strftime('%Y-%m-%dT%H:%M:%SZ', time.gmtime(began))}",
            about,
            row.samples,
            row.peers[0],
        )
        results.save()
        say(f"{name} took {about['took']} s")
    page.write(chosen)


if __name__ == "__main__":
    sys.exit(main())
