"""Errors of the interface itself.

>>> from cog.errors import CogError, ConfigDoesNotExist
>>> issubclass(ConfigDoesNotExist, CogError)
True
"""

from __future__ import annotations


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
    """What a model raises where the client is at fault: an input that it cannot work with.

    The prediction fails with the message as its error, and a client that waits gets `status`, 400
    to 499. `code` is a word for programs. The log has no traceback, and the metrics count the
    prediction under `reason="input"`. It is also raised for an input that passed validation and has
    no value of the declared type.

    >>> import cog
    >>> error = cog.InputError("the picture has no face", code="no_face")
    >>> str(error), error.status, error.code
    ('the picture has no face', 422, 'no_face')
    """

    def __init__(self, message: str = "", *, status: int = 422, code: str | None = None) -> None:
        if type(status) is not int or not 400 <= status <= 499:
            raise ValueError(f"status={status!r} must be a number from 400 to 499")
        if code is not None and not isinstance(code, str):
            raise TypeError(f"code={code!r} must be a str")
        super().__init__(message)
        self.status, self.code = status, code


class OutputError(CogError, TypeError):
    """An output that JSON cannot hold. The message names the place and the type.

    >>> from cog.errors import OutputError
    >>> issubclass(OutputError, TypeError)
    True
    """
