from .cleaning import clean as clean
