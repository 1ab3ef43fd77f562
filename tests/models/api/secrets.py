"""Is told secrets in each form, and handles them as a careful model does: it prints and returns the objects, not what is in them."""

import os
from typing import Any, Iterator, Optional

from cog import BaseRunner, Input, Path, Secret, current_scope, streaming


class Runner(BaseRunner):
    @streaming
    def run(
        self,
        key: Secret = Input(min_length=8, max_length=60),
        keys: list[Secret] = [],
        maybe: Optional[Secret] = None,
        file: Optional[Path] = None,
        how: str = "say",
        expected: str = "",
    ) -> Iterator[Any]:
        print("key", key, "keys", keys, "maybe", maybe)
        # The test says what arrives without saying it: its last letters, reversed.
        yield [k.get_secret_value()[::-1][: len(expected)] == expected for k in [key, *keys]]
        yield {"key": key, "keys": keys, "maybe": maybe}
        yield sorted(name for name in os.environ if "TOKEN" in name)
        yield sorted(current_scope().context)
        if how == "raise":
            raise ValueError(f"cannot log in with {key!r} or {keys}")
        if how == "die":
            os._exit(3)
        if how == "wait":
            with open("gate") as gate:
                gate.read()
        if how == "make":
            made = Path("made.txt")
            made.write_text("made")
            yield made
