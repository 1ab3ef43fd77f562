"""Run it by: pinion python -m pytest"""

from cog import Path
from PIL import Image
from run import Runner


def test_run(tmp_path):
    source = Path(tmp_path / "wide.png")
    Image.new("RGB", (64, 32), "red").save(source)
    with Image.open(Runner().run(image=source, size=16, gray=True)) as picture:
        assert (picture.size, picture.mode) == ((16, 8), "L")
