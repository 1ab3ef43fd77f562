"""The types of inputs and outputs.

>>> from cog.types import Path, Secret
>>> Path("/tmp/photo.png").suffix
'.png'
"""

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Union

    from ._deprecated import ExperimentalFeatureWarning
    from ._file import File, URLFile
    from ._filename import FILENAME_ILLEGAL_CHARS, FILENAME_MAX_LENGTH, get_filename
    from ._iterators import AsyncConcatenateIterator, ConcatenateIterator
    from ._path import Path, URLPath
    from ._secret import Secret

    Weights = Union[Path, str]  # noqa: UP007, a value at run time on Python 3.10

__all__ = [
    "FILENAME_ILLEGAL_CHARS",
    "FILENAME_MAX_LENGTH",
    "AsyncConcatenateIterator",
    "ConcatenateIterator",
    "ExperimentalFeatureWarning",
    "File",
    "Path",
    "Secret",
    "URLFile",
    "URLPath",
    "Weights",
    "get_filename",
]

_FILENAME = ("FILENAME_ILLEGAL_CHARS", "FILENAME_MAX_LENGTH", "get_filename")


def _weights() -> object:
    """Make what a setup(weights) may be annotated with: a path where one is given."""
    from ._path import Path

    globals()["Weights"] = weights = Path | str
    return weights


if not TYPE_CHECKING:  # to a type checker an unknown name is an error

    def __getattr__(name: str) -> object:
        """Load a type on first use; pathlib alone costs more than the whole package."""
        if name in __all__:
            if name == "ExperimentalFeatureWarning":
                import cog

                return cog.ExperimentalFeatureWarning  # not stored: see there
            if name == "Weights":
                return _weights()
            if name in _FILENAME:
                from . import _filename as home
            else:
                import cog as home
            value: object = getattr(home, name)
            globals()[name] = value
            return value
        raise AttributeError(f"module 'cog.types' has no attribute {name!r}")


def __dir__() -> list[str]:
    """Return the public names, loaded or not."""
    return sorted({*globals(), *__all__})
