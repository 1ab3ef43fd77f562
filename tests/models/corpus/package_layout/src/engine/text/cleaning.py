def clean(text: str) -> str:
    return " ".join(text.split())
