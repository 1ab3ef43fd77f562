"""What a process of a model is there for.

>>> from cog.mode import Mode
>>> Mode("train") is Mode.TRAIN
True
"""

from enum import Enum

__all__ = ["Mode"]


class Mode(Enum):
    """Whether predictions or trainings are made.

    >>> from cog.mode import Mode
    >>> str(Mode.PREDICT)
    'predict'
    """

    PREDICT = "predict"
    TRAIN = "train"

    def __str__(self) -> str:
        return str(self.value)
