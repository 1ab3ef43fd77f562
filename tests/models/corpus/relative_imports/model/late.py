from . import VERSION


def late() -> str:
    return f"late {VERSION}"
