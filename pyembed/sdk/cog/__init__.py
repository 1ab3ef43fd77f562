"""The interface between a model and the server that runs it.

A model imports its base class, its input declarations and its file types from
here. Everything is resolved on first use: ``import cog`` alone loads no other
module, because it stands at the start of every worker.

>>> from cog import BaseRunner, Input
>>> class Runner(BaseRunner):
...     def run(self, text: str = Input(description="What to shout")) -> str:
...         return text.upper()
>>> Runner().run(text="hello")
'HELLO'
"""

__version__ = "0.23.1"
"""The version of the interface that models see.

>>> import cog
>>> tuple(map(int, cog.__version__.split("."))) >= (0, 17)
True
"""

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import AsyncIterator as AsyncIterator

    from . import coder as coder
    from . import errors as errors
    from . import exceptions as exceptions
    from . import input as input
    from . import mode as mode
    from . import model as model
    from . import predictor as predictor
    from . import suppress_output as suppress_output
    from . import types as types
    from ._batch import batch
    from ._call import call, call_async
    from ._decorators import concurrent, example, function, streaming, tool
    from ._deprecated import ExperimentalFeatureWarning, emit_metric
    from ._opaque import Opaque
    from ._openai import openai
    from ._ranks import checkpoint, ranks
    from ._weights import weights
    from ._worker.scope import current_scope
    from .errors import CallError, InputError
    from .exceptions import CancelationException
    from .input import FieldInfo, Input
    from .model import BaseModel
    from .predictor import BasePredictor, BaseRunner
    from .types import (
        AsyncConcatenateIterator,
        ConcatenateIterator,
        File,
        Path,
        Secret,
        URLFile,
        URLPath,
    )

__all__ = [
    "AsyncConcatenateIterator",
    "BaseModel",
    "BasePredictor",
    "BaseRunner",
    "CallError",
    "CancelationException",
    "ConcatenateIterator",
    "ExperimentalFeatureWarning",
    "FieldInfo",
    "File",
    "Input",
    "InputError",
    "Opaque",
    "Path",
    "Secret",
    "URLFile",
    "URLPath",
    "__version__",
    "batch",
    "call",
    "call_async",
    "checkpoint",
    "concurrent",
    "current_scope",
    "emit_metric",
    "example",
    "function",
    "openai",
    "ranks",
    "streaming",
    "tool",
    "weights",
]

# The module of each public name. Importing all of them takes about 20 ms, mostly for
# pathlib, typing and dataclasses.
_HOMES = {
    "AsyncConcatenateIterator": "cog._iterators",
    "AsyncIterator": "cog._iterators",
    "BaseModel": "cog.model",
    "BasePredictor": "cog.predictor",
    "BaseRunner": "cog.predictor",
    "CallError": "cog.errors",
    "CancelationException": "cog.exceptions",
    "ConcatenateIterator": "cog._iterators",
    "FieldInfo": "cog.input",
    "File": "cog._file",
    "Input": "cog.input",
    "InputError": "cog.errors",
    "Opaque": "cog._opaque",
    "Path": "cog._path",
    "Secret": "cog._secret",
    "URLFile": "cog._file",
    "URLPath": "cog._path",
    "batch": "cog._batch",
    "call": "cog._call",
    "call_async": "cog._call",
    "checkpoint": "cog._ranks",
    "concurrent": "cog._decorators",
    "current_scope": "cog._worker.scope",
    "emit_metric": "cog._deprecated",
    "example": "cog._decorators",
    "function": "cog._decorators",
    "openai": "cog._openai",
    "ranks": "cog._ranks",
    "streaming": "cog._decorators",
    "tool": "cog._decorators",
    "weights": "cog._weights",
}
_SUBMODULES = (
    "coder",
    "errors",
    "exceptions",
    "input",
    "mode",
    "model",
    "predictor",
    "suppress_output",
    "types",
)


if not TYPE_CHECKING:  # to a type checker an unknown name is an error

    def __getattr__(name: str) -> object:
        """Import the module that defines name, and store the name here for the next use."""
        import sys

        home = _HOMES.get(name)
        if home is not None:
            __import__(home)
            value: object = getattr(sys.modules[home], name)
            globals()[name] = value
            return value
        if name in _SUBMODULES:
            __import__("cog." + name)
            return sys.modules["cog." + name]
        if name == "ExperimentalFeatureWarning":
            from . import _deprecated

            # Not stored in globals: an import alone gives no notice, a use does.
            return _deprecated.experimental_feature_warning()
        raise AttributeError(f"module 'cog' has no attribute {name!r}")


def __dir__() -> list[str]:
    """Return the public names, loaded or not."""
    return sorted({*globals(), *__all__, *_SUBMODULES})
