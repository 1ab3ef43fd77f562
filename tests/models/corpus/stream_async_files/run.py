"""An async generator whose files are removed when the next one comes."""

import os
from typing import AsyncIterator

from cog import BaseModel, BaseRunner, Path, concurrent, streaming


class Frame(BaseModel):
    number: int
    file: Path


class Runner(BaseRunner):
    @streaming
    @concurrent(max=3)
    async def run(self, name: str, count: int = 2) -> AsyncIterator[Frame]:
        for number in range(count):
            path = Path(f"{name}.txt")
            path.write_text(f"{name} {number}")
            yield Frame(number=number, file=path)
            os.unlink(path)
