"""Where Cog's base class stood before 0.17.

>>> from cog.base_predictor import BasePredictor
>>> BasePredictor.__module__
'cog.predictor'
"""

from .predictor import BasePredictor as BasePredictor
