"""Keeps schemathesis's requests on this machine: what they name as a webhook or as a place for uploads is the test's."""

from __future__ import annotations

import os
from typing import Any

import schemathesis


@schemathesis.hook
def before_call(context: Any, case: Any, kwargs: Any) -> None:
    """Put the test's receiver in place of valid URLs; what is invalid stays so."""
    if not isinstance(case.body, dict):
        return
    for key in ("webhook", "output_file_prefix"):
        value = case.body.get(key)
        if isinstance(value, str) and value.startswith(("http://", "https://")):
            case.body = {**case.body, key: os.environ["RECEIVER"]}
