"""The baseline: a fasthttp handler without a model."""

from __future__ import annotations

from lib.options import ROOT, Options
from lib.peers.base import Peer, Setting


class Bare(Peer):
    """bench/bare."""

    name = family = "bare"
    title = "bare fasthttp + sonic"

    def missing(self, options: Options) -> str:
        """It is built by run.sh."""
        return ""

    def command(self, s: Setting) -> list[str]:
        """Return the command that serves."""
        batches = ["-batches"] if s.work == "batch" else []
        return [str(s.options.tools / "bench-bare"), "-address", f"127.0.0.1:{s.port}", *batches]

    def version(self, options: Options) -> str:
        """Return the versions of its libraries."""
        found = []
        for line in (ROOT / "go.mod").read_text().splitlines():
            words = line.replace("require", "").split()
            if words and words[0] in ("github.com/valyala/fasthttp", "github.com/bytedance/sonic"):
                found.append(f"{words[0].rsplit('/', 1)[1]} {words[1].lstrip('v')}")
        return ", ".join(sorted(found))
