"""The types of inputs and outputs.

>>> from cog.types import Path, Secret
>>> Path("/tmp/photo.png").suffix
'.png'
"""

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ._file import File, URLFile
    from ._filename import FILENAME_ILLEGAL_CHARS, FILENAME_MAX_LENGTH, get_filename
    from ._iterators import AsyncConcatenateIterator, ConcatenateIterator
    from ._path import Path, URLPath
    from ._secret import Secret

__all__ = [
    "FILENAME_ILLEGAL_CHARS",
    "FILENAME_MAX_LENGTH",
    "AsyncConcatenateIterator",
    "ConcatenateIterator",
    "File",
    "Path",
    "Secret",
    "URLFile",
    "URLPath",
    "get_filename",
]

_FILENAME = ("FILENAME_ILLEGAL_CHARS", "FILENAME_MAX_LENGTH", "get_filename")


if not TYPE_CHECKING:  # to a type checker an unknown name is an error

    def __getattr__(name: str) -> object:
        """Load a type on first use; pathlib alone costs more than the whole package."""
        if name in __all__:
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
