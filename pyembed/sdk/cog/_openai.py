"""The decorator that names the endpoint of OpenAI's API that a function answers."""

from __future__ import annotations

from ._decorators import mark

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, TypeVar

    _F = TypeVar("_F", bound=Callable[..., Any])

OPENAI_ATTRIBUTE = "__cog_openai__"

# Each endpoint, and the parameter that brings what a request is about.
SUBJECTS = {
    "chat": "messages",
    "completions": "prompt",
    "embeddings": "input",
    "transcriptions": "file",
    "images": "prompt",
    "speech": "input",
    "rerank": "documents",
}


# A method beside the function, which counts the tokens of a request.
COUNTER = "count_tokens"


def openai(endpoint: str) -> Callable[[_F], _F]:
    """Let clients of OpenAI's API call this function.

    endpoint is "chat", "completions", "embeddings", "transcriptions", "images", "speech" or
    "rerank". The function declares the parameters that it wants of a request: "chat" needs
    `messages`, "completions" and "images" need `prompt`, "embeddings" and "speech" need
    `input`, "transcriptions" needs `file`, "rerank" needs `query` and `documents`.
    `/predictions` takes the same parameters as inputs.

    "count_tokens" is of a method beside the "chat" function: it takes those of the function's
    parameters that it names, and returns how many tokens they have.

    Raises TypeError if endpoint is not a str, and ValueError if OpenAI's API has no such endpoint.

    >>> from collections.abc import Iterator
    >>> from cog import BaseRunner, openai
    >>> class Runner(BaseRunner):
    ...     @openai("chat")
    ...     def run(self, messages: list[dict], temperature: float = 1.0) -> Iterator[str]:
    ...         yield from messages[-1]["content"].split()
    >>> list(Runner().run([{"role": "user", "content": "hello world"}]))
    ['hello', 'world']
    """
    names = ", ".join(f'"{name}"' for name in (*SUBJECTS, COUNTER))
    if not isinstance(endpoint, str):
        raise TypeError(
            f'openai: missing endpoint, as in @openai("chat"); it must be one of {names}'
        )
    if endpoint not in SUBJECTS and endpoint != COUNTER:
        raise ValueError(f"openai: the endpoint must be one of {names}, not {endpoint!r}")
    return lambda function: mark(function, "openai", OPENAI_ATTRIBUTE, endpoint)
