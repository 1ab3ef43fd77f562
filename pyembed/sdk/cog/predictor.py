"""Base classes of models."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from ._path import Path
    from ._worker.scope import Scope


class BaseRunner:
    """What a model derives from: `setup` once, then `run` for each prediction.

    >>> from cog import BaseRunner
    >>> class Runner(BaseRunner):
    ...     def setup(self) -> None:
    ...         self.prefix = "hello "
    ...     def run(self, name: str) -> str:
    ...         return self.prefix + name
    >>> runner = Runner()
    >>> runner.setup()
    >>> runner.run(name="ada")
    'hello ada'
    """

    if TYPE_CHECKING:
        # Models override it with and without weights, and async.
        def setup(self, *args: Any, **kwargs: Any) -> Any:
            """See below."""
    else:

        def setup(self, weights: Path | str | None = None) -> None:
            """Load what every prediction needs. Runs once, before the first one.

            A setup that takes weights gets the value of ``COG_WEIGHTS``, or the
            folder ``./weights`` where that exists. It may be async.
            """

    def after_fork(self) -> Any:
        """Open what each worker needs for itself: connections, threads, CUDA. It may be async.

        Each worker runs it after `setup`, before its first prediction. With ``--preload=setup``
        one process runs `setup`, and the workers are its forks; else each worker runs both.
        Cog does not know it.
        """

    def run(self, *args: Any, **kwargs: Any) -> Any:
        """Make one prediction from the inputs that the signature declares."""
        if type(self).predict is BaseRunner.predict:
            raise NotImplementedError(f"{type(self).__name__} must define run()")
        return self.predict(*args, **kwargs)

    def predict(self, *args: Any, **kwargs: Any) -> Any:
        """Make one prediction: the older name of `run`."""
        if type(self).run is BaseRunner.run:
            raise NotImplementedError(f"{type(self).__name__} must define run()")
        return self.run(*args, **kwargs)

    @property
    def scope(self) -> Scope:
        """The running prediction's scope, as `cog.current_scope` returns it."""
        from ._worker.scope import current_scope

        return current_scope()

    def record_metric(self, key: str, value: Any, mode: str = "replace") -> None:
        """Record a metric of the running prediction; nothing outside of one.

        key is 1 to 4 names joined by dots, which nest in the answer. mode is
        "replace", "incr" to add to a number, or "append" to collect a list.
        None as value deletes. Raises ValueError for a name and TypeError for a
        value or mode that is not allowed.
        """
        self.scope.record_metric(key, value, mode)


class BasePredictor(BaseRunner):
    """The older base class, whose models define `predict` instead of `run`.

    >>> from cog import BasePredictor
    >>> class Predictor(BasePredictor):
    ...     def predict(self, x: int) -> int:
    ...         return x + 1
    >>> Predictor().predict(x=1)
    2
    """


def load_predictor_from_ref(ref: str) -> BaseRunner | Callable[..., Any]:
    """Import a model and return its object, without running its setup, or its function.

    ref is as in cog.yaml: a file below the working folder, and the name of a
    class or function in it; without a name, one of the usual ones. Raises
    LoadError where there is no such thing.

    >>> from cog.predictor import load_predictor_from_ref
    >>> upscaler = load_predictor_from_ref("upscaler.py:Upscaler")  # doctest: +SKIP
    >>> upscaler.setup()  # doctest: +SKIP
    """
    from ._worker.model.load import load_thing

    thing: BaseRunner | Callable[..., Any] = load_thing(ref, ".")
    return thing


def has_setup_weights(predictor: BaseRunner) -> bool:
    """Return whether the setup of a model takes weights.

    >>> from cog.predictor import BaseRunner, has_setup_weights
    >>> has_setup_weights(BaseRunner())
    True
    """
    from ._worker.model.load import takes_weights

    return takes_weights(predictor.setup)


def extract_setup_weights(predictor: BaseRunner) -> Path | str | None:
    """Return the weights that the environment names: ``COG_WEIGHTS``, else ``./weights``.

    >>> from cog.predictor import BaseRunner, extract_setup_weights
    >>> extract_setup_weights(BaseRunner()) is None
    True
    """
    import os

    from ._path import Path

    if os.environ.get("COG_WEIGHTS"):
        return os.environ["COG_WEIGHTS"]
    return Path("weights") if os.path.exists("weights") else None
