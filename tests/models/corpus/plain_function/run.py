"""The smallest model."""

print("imported")


def run(x: float, y: float = 1.0) -> float:
    return x / y
