"""Running a model's example once, after setup and before the worker is ready."""

from __future__ import annotations

import copy
import sys

from ..scope import Scope, enter, within
from ..values.coerce import make_prepare
from ..values.encode import encode
from ..values.iterators import collect, collect_async, converter

TYPE_CHECKING = False
if TYPE_CHECKING:
    import asyncio
    from typing import Any

    from ..batch.plan import Plan
    from ..model.examples import Example
    from ..model.load import Predictor


def warm_up(predictor: Predictor, example: Example, loop: asyncio.AbstractEventLoop | None) -> None:
    """Run the example like a prediction, and drop its result.

    loop is that of async predictions, else None. An exception passes through: a model whose own
    example fails is not ready.
    """
    try:
        inputs = copy.deepcopy(example.arguments)
        prepare = make_prepare(predictor.signature)
        if prepare is not None:
            inputs = prepare(inputs)
        if loop is None:
            within(Scope(None), _run, predictor, inputs)
        else:
            loop.run_until_complete(_run_async(predictor, inputs))
    except Exception:
        print("the model's example failed:", file=sys.stderr)  # the traceback follows
        raise


def _run(predictor: Predictor, inputs: dict[str, Any]) -> None:
    plan = predictor.plan
    if plan is not None:
        encode(_only(plan, predictor.function(**_batch_of_one(plan, inputs))))
        return
    value = predictor.function(**inputs)
    convert = converter(predictor)
    if convert is not None and type(value) is not list:
        value = convert(value, encode)
    encode(collect(value, encode) if predictor.is_generator else value)


async def _run_async(predictor: Predictor, inputs: dict[str, Any]) -> None:
    enter(Scope(None))  # the context is this task's
    plan = predictor.plan
    if plan is not None:
        inputs = _batch_of_one(plan, inputs)
    value = predictor.function(**inputs)
    if hasattr(value, "__await__"):
        value = await value
    if plan is not None:
        value = _only(plan, value)
    elif hasattr(value, "__aiter__"):
        value = await collect_async(value, encode)
    else:
        convert = converter(predictor)
        if convert is not None and type(value) is not list:
            value = convert(value, encode)
    encode(value)


def _batch_of_one(plan: Plan, inputs: dict[str, Any]) -> dict[str, Any]:
    """Return the arguments of a batched function for a batch of one prediction."""
    if plan.preprocess is not None:
        return {plan.batched[0]: [plan.preprocess(**inputs)]}
    return {name: [value] if name in plan.batched else value for name, value in inputs.items()}


def _only(plan: Plan, result: Any) -> Any:
    """Return the output of the one prediction in a batch."""
    if len(result) != 1:
        raise ValueError(f"the batch has 1 item and the function returned {len(result)}")
    value = result[0]
    if isinstance(value, BaseException):
        raise value
    return plan.postprocess(value) if plan.postprocess is not None else value
