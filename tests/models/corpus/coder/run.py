"""Types of a library, with a Coder for them."""

from fractions import Fraction

from cog import BaseRunner
from cog.coder import Coder


class FractionCoder(Coder):
    @staticmethod
    def factory(tpe):
        return FractionCoder() if tpe is Fraction else None

    def encode(self, x):
        return {"over": x.numerator, "under": x.denominator}

    def decode(self, x):
        return Fraction(x["over"], x.get("under", 1))


Coder.register(FractionCoder)


class Runner(BaseRunner):
    def run(self, a: Fraction, others: list[Fraction] = []) -> Fraction:
        return sum(others, a)
