"""Re-exports, and data that lies inside of the package."""

from importlib import resources

from .core import Engine

__all__ = ["Engine", "__version__"]
__version__ = resources.files(__name__).joinpath("VERSION").read_text().strip()
