"""Errors of the interface itself.

>>> from cog.errors import CogError, ConfigDoesNotExist
>>> issubclass(ConfigDoesNotExist, CogError)
True
"""


class CogError(Exception):
    """The base of every error defined here.

    >>> from cog.errors import CogError, OutputError
    >>> try:
    ...     raise OutputError("output.mask is of type bytes")
    ... except CogError as error:
    ...     print(error)
    output.mask is of type bytes
    """


class ConfigDoesNotExist(CogError):
    """The model has no configuration.

    >>> from cog.errors import CogError, ConfigDoesNotExist
    >>> issubclass(ConfigDoesNotExist, CogError)
    True
    """


class PredictorNotSet(CogError):
    """The configuration names no predictor.

    >>> from cog.errors import CogError, PredictorNotSet
    >>> issubclass(PredictorNotSet, CogError)
    True
    """


class LoadError(CogError, ValueError):
    """A model that cannot be served as it is written.

    The message names the file and line, the parameter and its type, and says
    what to change.

    >>> from cog.errors import LoadError
    >>> issubclass(LoadError, ValueError)
    True
    """


class CallError(CogError, RuntimeError):
    """Another model could not be called, or failed. The message is its error.

    Not caught, it fails the prediction that called, with the same error.

    >>> import cog
    >>> try:
    ...     cog.call("embed", text="hello")
    ... except cog.CallError as error:
    ...     print(error)
    cog.call works only while a prediction runs
    """


class InputError(CogError, ValueError):
    """An input that passed validation and still has no value of the declared type.

    >>> from cog.errors import InputError
    >>> issubclass(InputError, ValueError)
    True
    """


class OutputError(CogError, TypeError):
    """An output that JSON cannot hold. The message names the place and the type.

    >>> from cog.errors import OutputError
    >>> issubclass(OutputError, TypeError)
    True
    """
