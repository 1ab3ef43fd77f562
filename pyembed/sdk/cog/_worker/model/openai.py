"""Checks of a function with @openai."""

from __future__ import annotations

from functools import update_wrapper
from inspect import getattr_static, iscoroutinefunction
from inspect import signature as signature_of

from ..._openai import COUNTER, OPENAI_ATTRIBUTE, SUBJECTS
from ...errors import LoadError
from ..schema.types import Stream
from ..scope import current_scope
from .functions import is_function

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from ..schema.signature import Signature
    from .load import Predictor

# The context of a prediction that counts: httpd/openai/count.go.
_CONTEXT = "pinion-count-tokens"


def check_endpoint(endpoint: str, signature: Signature) -> None:
    """Raise LoadError if a function cannot answer the requests of its endpoint."""
    place = f"{signature.file}:{signature.line}: {signature.name}: " if signature.file else ""
    if endpoint == COUNTER:
        raise LoadError(
            f'{place}@openai("{COUNTER}") is of a method beside the function with @openai("chat")'
        )
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
            if other == name or is_function(value):
                continue
            if getattr_static(value, OPENAI_ATTRIBUTE, COUNTER) != COUNTER:
                raise LoadError(
                    f"{cls}.{other} has @openai, but clients reach only {cls}.{name}; "
                    f"put @openai on {name}, or @cog.function on {other}"
                )


def counter(predictor: Predictor) -> Callable[..., Any] | None:
    """Return the method that counts tokens, or None. Raise LoadError if it cannot be called."""
    instance = predictor.instance
    for owner in type(instance).__mro__:
        for name, value in vars(owner).items():
            if getattr_static(value, OPENAI_ATTRIBUTE, None) != COUNTER:
                continue
            method: Callable[..., Any] = getattr(instance, name)
            place = f"{type(instance).__name__}.{name}"
            if predictor.plan is not None:
                raise LoadError(
                    f'{place} has @openai("{COUNTER}"), which a function with @batch cannot have'
                )
            if iscoroutinefunction(method):
                raise LoadError(f'{place} has @openai("{COUNTER}") and is async; make it a def')
            return method
    return None


def counted(predictor: Predictor, count: Callable[..., Any]) -> Callable[..., Any]:
    """Return the function of a predictor; for a prediction that counts, it counts instead."""
    return update_wrapper(_counted(predictor, predictor.function, count), predictor.function)


def _counted(
    predictor: Predictor, function: Callable[..., Any], count: Callable[..., Any]
) -> Callable[..., Any]:
    names = signature_of(count).parameters

    def asked() -> bool:
        return _CONTEXT in current_scope().context

    def tokens(inputs: dict[str, Any]) -> str:
        return str(int(count(**{name: inputs[name] for name in names if name in inputs})))

    if predictor.is_async_generator:

        async def iterate_async(**inputs: Any) -> Any:
            if asked():
                yield tokens(inputs)
                return
            async for item in function(**inputs):
                yield item

        return iterate_async
    if predictor.is_async:

        async def run_async(**inputs: Any) -> Any:
            return tokens(inputs) if asked() else await function(**inputs)

        return run_async
    if predictor.is_generator and not predictor.returns_items:

        def iterate(**inputs: Any) -> Any:
            if asked():
                yield tokens(inputs)
            else:
                yield from function(**inputs)

        return iterate

    def run(**inputs: Any) -> Any:
        return tokens(inputs) if asked() else function(**inputs)

    return run


def _example(endpoint: str) -> str:
    return {
        "chat": "messages: list[dict]",
        "embeddings": "input: list[str]",
        "transcriptions": "file: cog.Path",
        "speech": "input: str",
        "rerank": "query: str, documents: list[str]",
    }.get(endpoint, "prompt: str")
