"""Draw sample.png from the lines of sample.txt.

The picture in this folder was made by this script, with the font that Pillow carries (Aileron, which is in
the public domain under CC0). Run it again after a change of sample.txt: python draw_sample.py
"""

from pathlib import Path

from PIL import Image, ImageDraw, ImageFont

HERE = Path(__file__).resolve().parent
MARGIN, LINE_HEIGHT, WIDTH = 36, 52, 760
PAPER, INK = (250, 248, 240), (32, 32, 40)


def draw(lines: list[str]) -> Image.Image:
    """Return a picture with one line of text under the other, the first in larger type."""
    picture = Image.new("RGB", (WIDTH, 2 * MARGIN + LINE_HEIGHT * len(lines)), PAPER)
    pen = ImageDraw.Draw(picture)
    for number, line in enumerate(lines):
        font = ImageFont.load_default(size=38 if number == 0 else 28)
        pen.text((MARGIN, MARGIN + number * LINE_HEIGHT), line, fill=INK, font=font)
    return picture


if __name__ == "__main__":
    text = (HERE / "sample.txt").read_text(encoding="utf-8").splitlines()
    # A palette of 32 shades keeps the edges of the letters smooth and the file small.
    draw(text).quantize(colors=32).save(HERE / "sample.png", optimize=True)
