"""File, the deprecated way: file objects in and out."""

import io

from typing import Optional

from cog import BasePredictor, File, Input


class Predictor(BasePredictor):
    def predict(self, file: File = Input(description="Text"), again: Optional[File] = None) -> File:
        text = file.read().decode()
        file.close()
        if again is not None:
            text += again.read(3).decode()
        out = io.BytesIO(text[::-1].encode())
        out.name = "reversed.txt"
        return out
