def attend(x: int) -> int:
    return x + 1
