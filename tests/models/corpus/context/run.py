"""What the client sends beside the input."""

import threading

from cog import BaseRunner, current_scope


def who() -> str:
    return current_scope().context.get("user", "nobody")


class Runner(BaseRunner):
    def setup(self) -> None:
        assert dict(current_scope().context) == {}

    def run(self) -> list:
        found = [who(), self.scope.context.get("request")]
        thread = threading.Thread(target=lambda: found.append(who()))
        thread.start()
        thread.join()
        return found
