"""A model that says itself whether it is well."""

import threading

from cog import BaseRunner


class Runner(BaseRunner):
    def setup(self) -> None:
        self.well = True

    def run(self, break_it: bool = False) -> str:
        self.well = not break_it
        return "broken" if break_it else "fine"

    def healthcheck(self) -> bool:
        if not self.well:
            raise RuntimeError("the device is lost")
        return threading.current_thread() is threading.main_thread() or True
