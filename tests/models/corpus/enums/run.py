"""Enum classes as inputs, as outputs, as keys."""

import enum

from cog import BaseRunner, Input


class Style(str, enum.Enum):
    OIL = "oil"
    INK = "ink"


class Quality(enum.IntEnum):
    LOW = 1
    HIGH = 10


class Runner(BaseRunner):
    def run(
        self,
        style: Style = Style.OIL,
        quality: Quality = Quality.LOW,
        styles: list[Style] = [Style.INK],
        narrow: Style = Input(choices=[Style.OIL], default=Style.OIL),
    ) -> dict:
        assert isinstance(style, Style) and isinstance(quality, Quality)
        return {"style": style, "quality": quality, "name": style.name, style: quality + 1, "styles": styles}
