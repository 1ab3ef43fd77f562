"""A metric that breaks a rule fails the prediction that records it, and says which rule."""

from typing import Union

from cog import BaseRunner


class Runner(BaseRunner):
    def run(self, name: str, value: Union[int, str] = 1, mode: str = "replace", then: Union[str, None] = None) -> bool:
        self.record_metric("kept", True)
        self.record_metric(name, value, mode)
        if then is not None:
            self.record_metric(name, then)
        return True
