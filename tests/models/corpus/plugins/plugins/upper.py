from registry import register


@register("upper")
def upper(text):
    return text.upper()
