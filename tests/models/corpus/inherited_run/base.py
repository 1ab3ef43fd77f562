from cog import BaseRunner, Input


class SharedRunner(BaseRunner):
    greeting = "hello"

    def run(self, name: str = Input(default="world"), times: int = 1) -> list[str]:
        return [f"{self.greeting} {name}"] * times
