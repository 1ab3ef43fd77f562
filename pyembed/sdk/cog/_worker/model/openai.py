"""Checks of a function with @openai."""

from __future__ import annotations

from inspect import getattr_static

from ..._openai import OPENAI_ATTRIBUTE, SUBJECTS
from ...errors import LoadError
from ..schema.types import Stream

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ..schema.signature import Signature


def check_endpoint(endpoint: str, signature: Signature) -> None:
    """Raise LoadError if a function cannot answer the requests of its endpoint."""
    place = f"{signature.file}:{signature.line}: {signature.name}: " if signature.file else ""
    subjects = [SUBJECTS[endpoint]] + ["query"] * (endpoint == "rerank")
    for subject in subjects:
        if all(field.name != subject for field in signature.inputs):
            raise LoadError(
                f'{place}@openai("{endpoint}") requires a parameter "{subject}"; '
                f"add it, as in `{_example(endpoint)}`"
            )
    if endpoint in ("embeddings", "images", "rerank") and isinstance(signature.output, Stream):
        raise LoadError(
            f'{place}@openai("{endpoint}") must return its whole output at once, not '
            f"{signature.output.name}; return a list"
        )


def check_other_methods(instance: Any, name: str, cls: str) -> None:
    """Raise LoadError if @openai is on a method of a model that makes no predictions."""
    for owner in type(instance).__mro__:
        for other, value in vars(owner).items():
            # Statically: a value of a missing package has any attribute that it is asked for.
            if other != name and getattr_static(value, OPENAI_ATTRIBUTE, None):
                raise LoadError(
                    f"{cls}.{other} has @openai, but clients reach only {cls}.{name}; "
                    f"put @openai on {name}, or serve {other} as another model"
                )


def _example(endpoint: str) -> str:
    return {
        "chat": "messages: list[dict]",
        "embeddings": "input: list[str]",
        "transcriptions": "file: cog.Path",
        "speech": "input: str",
        "rerank": "query: str, documents: list[str]",
    }.get(endpoint, "prompt: str")
