"""Functions that return something else than they say: Cog goes by the schema, and makes a list where it says so."""

from collections.abc import Iterator

from cog import BaseRunner, Path


class Runner(BaseRunner):
    def run(self, what: str) -> list[str]:
        Path("note.txt").write_text("note")

        def letters() -> Iterator[str]:
            for letter in "ab":
                print(letter)
                yield letter
            if what == "failing":
                raise ValueError("no c")

        values = {
            "one": "text",
            "nothing": None,
            "number": 5,
            "dict": {"nested": (n * n for n in range(3))},
            "tuple": ("a", "b"),
            "generator": letters(),
            "failing": letters(),
            "map": map(str.upper, "ab"),
            "file": Path("note.txt"),
        }
        return values[what]  # type: ignore[return-value]
