"""Secrets: masked wherever they are shown, theirs only by asking for them."""

import logging

from cog import BaseRunner, Secret

logging.basicConfig(level="INFO", format="%(message)s")


class Runner(BaseRunner):
    def run(self, key: Secret, optional: Secret = None, several: list[Secret] = [], fail: bool = False) -> dict:
        print("key is", key)
        logging.info("and %r", key)
        if fail:
            raise PermissionError(f"{key} is not valid")
        return {
            "length": len(key.get_secret_value()),
            "optional": None if optional is None else optional.get_secret_value(),
            "several": [s.get_secret_value()[::-1] for s in several],
            "itself": key,
        }
