from registry import register


@register("lower")
def lower(text):
    return text.lower()
