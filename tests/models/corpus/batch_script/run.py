"""A script that became a model: work at module level, a main guard, prints everywhere."""

import random
import sys
import time

random.seed(4)
print("script starts", file=sys.stderr)
began = time.time()
TABLE = [random.randrange(100) for _ in range(5)]


def main(argv):
    print(TABLE)
    return 0


def run(index: int = 0) -> int:
    assert time.time() >= began
    return TABLE[index]


if __name__ == "__main__":
    sys.exit(main(sys.argv))
