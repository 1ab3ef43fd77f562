"""A video as its frames: files that are yielded one by one, each removed when the next one comes."""

import os
import tempfile
from typing import Iterator

from cog import BaseRunner, Input, Path, streaming


class Runner(BaseRunner):
    @streaming
    def run(self, frames: int = Input(default=3, ge=0, le=10), fail_at: int = -1) -> Iterator[Path]:
        try:
            for number in range(frames):
                if number == fail_at:
                    raise RuntimeError(f"frame {number} cannot be drawn")
                handle, name = tempfile.mkstemp(suffix=".txt")
                with os.fdopen(handle, "w") as file:
                    file.write(f"frame {number}")
                print("frame", number)
                yield Path(name)
                os.unlink(name)
        finally:
            print("closed")
