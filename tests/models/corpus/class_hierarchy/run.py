"""Model families: an abstract base, a variant for each size, and one class that is served."""

import abc

import cog


class Base(cog.BaseRunner, abc.ABC):
    size: str

    def setup(self) -> None:
        print(f"loading {self.name()}")
        self.weights = self.load()

    def name(self) -> str:
        return f"{type(self).__name__}-{self.size}"

    @abc.abstractmethod
    def load(self) -> list[float]: ...

    def run(self, x: float = cog.Input(ge=0), power: int = 1) -> dict:
        return {"model": self.name(), "y": sum(w * x**power for w in self.weights)}


class Small(Base):
    size = "small"

    def load(self) -> list[float]:
        return [0.5]


class Large(Small):
    size = "large"

    def setup(self) -> None:
        super().setup()
        print("and its refiner")

    def load(self) -> list[float]:
        return [*super().load(), 1.5]


class Served(Large):
    def run(self, x: float = cog.Input(ge=1)) -> dict:
        """Narrower than its base's."""
        return super().run(x, power=2)
