"""Where Cog's scope stood before 0.17.

>>> from cog.server.scope import current_scope
>>> current_scope().context
{}
"""

from .._worker.scope import Scope as Scope
from .._worker.scope import current_scope as current_scope
