"""Weights of cog.yaml, which the server fetches."""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from pathlib import Path


class Gate:
    """The folder with a file for each of the weights, locked by the server until they are there."""

    folder = ""


def weights(name: str) -> Path:
    """Return the path of weights that ``cog.yaml`` names, once they are there.

    The path is that of their target: a folder, or a file. Waiting for weights with ``wait: false``
    in ``setup`` lets it begin with the others. Raises `RuntimeError` if they cannot be fetched,
    and `LookupError` if the server fetches none of that name.

    >>> import cog
    >>> class Runner:
    ...     def setup(self) -> None:
    ...         self.labels = (cog.weights("base") / "labels.txt").read_text()
    """
    from pathlib import Path

    line, problem, path = await_weights(name)
    if problem:
        raise RuntimeError(f"cog.yaml:{line}: weights {name}: {problem}")
    return Path(path)


def await_weights(name: str) -> tuple[int, str, str]:
    """Wait for weights. Return their line in cog.yaml, why they cannot be there, and the path."""
    import fcntl
    import json

    if not Gate.folder:
        raise LookupError(f"there are no weights {name!r}: the server fetches none for this model")
    known = os.listdir(Gate.folder)
    if name not in known:
        raise LookupError(
            f"there are no weights {name!r}: cog.yaml has {', '.join(sorted(known)) or 'none'}"
        )
    with open(os.path.join(Gate.folder, name), encoding="utf-8") as file:
        fcntl.flock(file, fcntl.LOCK_SH)  # until the server has written the file
        text = file.read()
    if not text:
        return 0, "the server has ended before they were there", ""
    found = json.loads(text)
    return found.get("line", 0), found.get("error", ""), found.get("path", "")
