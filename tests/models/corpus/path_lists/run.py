"""Several files in, several out, one by one and as an archive."""

import os
import zipfile
from typing import Iterator, List

from cog import BaseModel, BaseRunner, Path


class Page(BaseModel):
    number: int
    text: Path


class Runner(BaseRunner):
    def run(self, pages: List[Path], archive: bool = False) -> Iterator[Page]:
        folders = {os.path.dirname(page) for page in pages}
        print("pages", len(pages), len(set(pages)), "in", "one" if len(folders) <= 1 else "several")
        if archive:
            with zipfile.ZipFile("pages.zip", "w") as file:
                for number, page in enumerate(pages):
                    file.write(page, f"{number}.txt")
            yield Page(number=0, text=Path("pages.zip"))
            return
        for number, page in enumerate(pages):
            out = Path("page.txt")  # the same file is written again and again
            out.write_text(page.read_text().upper())
            yield Page(number=number, text=out)
