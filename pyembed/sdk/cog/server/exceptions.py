"""Where Cog's exceptions stood before 0.17.

>>> from cog.server.exceptions import CancelationException
>>> CancelationException.__module__
'cog.exceptions'
"""

from ..exceptions import CancelationException as CancelationException
