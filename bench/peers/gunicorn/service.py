"""The same model behind gunicorn: with preload_app its workers are forks of a process that has loaded the weights."""

import json
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any
from unittest import mock

sys.path.insert(0, str(Path(__file__).parents[2] / "models/ready"))
with mock.patch.dict(sys.modules, {"cog": mock.Mock(BaseRunner=object)}):
    import run

runner = run.Runner()
runner.setup()


def app(environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
    """Answer POST /predictions as Pinion does."""
    body = json.loads(environ["wsgi.input"].read(int(environ.get("CONTENT_LENGTH") or 0)) or "{}")
    output = runner.run(body.get("input", {}).get("x", 5))
    start_response("200 OK", [("Content-Type", "application/json")])
    return [json.dumps({"output": output}).encode()]
