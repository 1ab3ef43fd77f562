"""The runtime that the official ``cog`` package expects.

Models import `cog`; this module exists so that other software which asks for
the runtime by name finds it.

>>> import coglet
>>> coglet.server.active  # True in a worker only
False
"""

import sys

from cog import __version__
from cog.exceptions import CancelationException

from . import _sdk as _sdk

__all__ = ["CancelationException", "__version__", "server"]


class _Server:
    """The server as seen from inside of it."""

    __slots__ = ()

    @property
    def active(self) -> bool:
        """Return whether this process is a worker: only there is the module ``_px`` built in."""
        return "_px" in sys.modules

    def __repr__(self) -> str:
        return "coglet.server"


server = _Server()
