"""Free JSON: objects, nested, in the order in which they were sent."""

from typing import Annotated, Any, Dict

from cog import BaseRunner, Opaque


class Workflow:
    """A class that only the model knows."""


class Runner(BaseRunner):
    def run(
        self,
        workflow: Annotated[Workflow, Opaque],
        loras: Dict[str, float] = {},
        tables: dict[str, dict[str, list[int]]] = {},
        anything: dict[str, Any] = {"a": [1]},
        bare: dict = {},
    ) -> Any:
        return [list(workflow), loras, tables, anything, sum(bare.values())]
