"""Which way up is a line of text: a network from a wheel, on onnxruntime."""

from classify import Classifier
from cog import BaseRunner


class Runner(BaseRunner):
    def setup(self) -> None:
        self.classifier = Classifier()

    def run(self, text: str) -> str:
        return self.classifier(text)
