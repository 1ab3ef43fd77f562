from cog import BaseRunner


class Upper(BaseRunner):
    def setup(self) -> None:
        self.suffix = "!"

    def run(self, text: str) -> str:
        return text.upper() + self.suffix
