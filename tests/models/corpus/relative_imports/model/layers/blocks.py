from ..layers.attention import attend


class Block:
    def __init__(self, scale: int) -> None:
        self.scale = scale

    def __call__(self, x: int) -> int:
        return attend(x) * self.scale
