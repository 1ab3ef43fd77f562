"""Submodules that nothing has imported: Cog's server had, and models count on it."""

import concurrent
import email
import http
import importlib
import subprocess
import sys
import urllib

from cog import BaseRunner

AT_IMPORT = urllib.parse.quote("a b")


class Runner(BaseRunner):
    def run(self) -> str:
        used = [
            AT_IMPORT,
            urllib.request.Request("http://x/").host,
            urllib.error.URLError.__name__,
            http.client.HTTPConnection.__name__,
            concurrent.futures.Future.__name__,
            importlib.metadata.version("cog"),
            importlib.util.find_spec("json").name,
            importlib.resources.__name__,
            email.utils.formataddr(("a", "b@c")),
        ]
        code = "import importlib.metadata, cog; print(importlib.metadata.version('cog') == cog.__version__)"
        used.append(subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip())
        try:
            urllib.nothing  # noqa: B018
        except AttributeError as error:
            used.append(str(error))
        return " | ".join(used)
