"""The decorator that gives an example of a model's inputs."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, TypeVar

    _F = TypeVar("_F", bound=Callable[..., Any])

EXAMPLE_ATTRIBUTE = "__cog_example__"


def example(**inputs: Any) -> Callable[[_F], _F]:
    """Give an example of the inputs of a run function.

    The server runs it after setup, so that the first client finds a model that is warm and
    known to work. Clients see it in the OpenAPI document and on the page. A file is a path
    in the model's folder.

    >>> from cog import BaseRunner, example
    >>> class Runner(BaseRunner):
    ...     @example(text="hello")
    ...     def run(self, text: str) -> str:
    ...         return text.upper()
    >>> Runner().run(text="hello")
    'HELLO'
    """

    def mark(function: _F) -> _F:
        if not callable(function):
            raise TypeError(f"@example goes on a function, not on {type(function).__name__}")
        setattr(function, EXAMPLE_ATTRIBUTE, inputs)
        return function

    return mark
