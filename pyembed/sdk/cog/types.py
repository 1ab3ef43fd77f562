"""The types of inputs and outputs.

>>> from cog.types import Path, Secret
>>> Path("/tmp/photo.png").suffix
'.png'
"""

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ._file import File, URLFile
    from ._iterators import AsyncConcatenateIterator, ConcatenateIterator
    from ._path import Path, URLPath
    from ._secret import Secret

__all__ = [
    "AsyncConcatenateIterator",
    "ConcatenateIterator",
    "File",
    "Path",
    "Secret",
    "URLFile",
    "URLPath",
]


if not TYPE_CHECKING:  # to a type checker an unknown name is an error

    def __getattr__(name: str) -> object:
        """Load a type on first use; pathlib alone costs more than the whole package."""
        if name in __all__:
            import cog

            value: object = getattr(cog, name)
            globals()[name] = value
            return value
        raise AttributeError(f"module 'cog.types' has no attribute {name!r}")
