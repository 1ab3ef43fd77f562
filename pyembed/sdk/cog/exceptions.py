"""Exceptions that the server raises inside a model."""


class CancelationException(BaseException):
    """Raised in a sync predict function when its prediction is canceled.

    Not an `Exception`, so that ``except Exception`` does not swallow it. Clean
    up and raise it again; async functions see `asyncio.CancelledError` instead.

    >>> from cog import CancelationException
    >>> try:
    ...     raise CancelationException
    ... except CancelationException:
    ...     print("free the GPU, then raise")
    free the GPU, then raise
    """
