"""Errors of the interface itself.

>>> from cog.errors import CogError, ConfigDoesNotExist
>>> issubclass(ConfigDoesNotExist, CogError)
True
"""


class CogError(Exception):
    """The base of every error defined here."""


class ConfigDoesNotExist(CogError):
    """The model has no configuration."""


class PredictorNotSet(CogError):
    """The configuration names no predictor."""


class LoadError(CogError, ValueError):
    """A model that cannot be served as it is written.

    The message names the file and line, the parameter and its type, and says
    what to change.
    """


class InputError(CogError, ValueError):
    """An input that passed validation and still has no value of the declared type."""


class OutputError(CogError, TypeError):
    """An output that JSON cannot hold. The message names the place and the type."""
