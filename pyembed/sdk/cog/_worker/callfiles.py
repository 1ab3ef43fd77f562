"""The files of a call: those of its inputs, and the paths and arrays of its output."""

from __future__ import annotations

import os

from .values import tensors
from .values.outfile import FileProblem, check_kind, is_unfetched

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

_MARK = "pinion-file:"


class InputFiles:
    """The files of inputs. Called with a path, a file object or bytes, it returns a mark."""

    def __init__(self, root: str) -> None:
        self._root = root
        self.token = os.urandom(16).hex()
        self.paths: list[str] = []
        self._folder = ""
        self._store: Any = None

    def __call__(self, value: Any) -> str:
        if is_unfetched(value):
            return str(value.source)
        if hasattr(value, "__fspath__"):
            path = os.path.abspath(os.fsdecode(os.fspath(value)))
            try:
                check_kind(os.stat(path).st_mode, path)
            except FileNotFoundError as exc:
                raise FileProblem(f"the file {path!r} does not exist") from exc
            except (OSError, ValueError) as exc:
                raise FileProblem(f"the file {path!r} cannot be read: {exc}") from exc
            return self._mark(path)
        copied = self._copy(value)
        return self._mark(os.path.join(self._folder, copied.rpartition(":")[2]))

    def encoder(self) -> Callable[[Any], Any]:
        """Return the function that makes inputs what the front reads."""
        encode = tensors.storing(self)

        def encode_input(value: Any) -> Any:
            if isinstance(value, (bytes, bytearray, memoryview)):
                from io import BytesIO

                return self(BytesIO(value))
            return encode(value, "input")

        encode_input.any_number = True  # type: ignore[attr-defined]
        return encode_input

    def _copy(self, value: Any) -> str:
        if self._store is None:
            from tempfile import mkdtemp

            from .values.store import Store

            self._folder = mkdtemp(prefix="call-", dir=self._root)
            self._store = Store(self._folder, self.token)
        copied: str = self._store(value)
        return copied

    def _mark(self, path: str) -> str:
        self.paths.append(path)
        return f"{_MARK}{self.token}:{len(self.paths) - 1}"

    def has_copies(self) -> bool:
        """Return whether remove has something to do."""
        return self._folder != ""

    def remove(self) -> None:
        """Remove what was copied."""
        if self._folder:
            from shutil import rmtree

            rmtree(self._folder, ignore_errors=True)
            self._folder = ""


def restore(value: Any, files: dict[str, str] | None) -> Any:
    """Return an output with arrays and paths in the places of what stands for them."""
    kind = type(value)
    if kind is tuple:
        return _array(*value)
    if kind is list:
        return [restore(item, files) for item in value]
    if kind is dict:
        return {name: restore(item, files) for name, item in value.items()}
    if kind is str and files is not None:
        mark = f"{_MARK}{files['token']}:"
        if value.startswith(mark):
            from ..types import Path

            return Path(os.path.join(files["folder"], value[len(mark) :]))
    return value


def _array(data: bytearray, shape: tuple[int, ...], code: str) -> Any:
    """Return an array of numpy, or nested lists without it."""
    try:
        numpy: Any = __import__("numpy")  # the model's, if it has it
    except ImportError:
        import struct

        count = 1
        for length in shape:
            count *= length
        numbers: list[Any] = list(struct.unpack(f"<{count}{code}", data))
        for length in reversed(shape[1:]):
            numbers = [numbers[at : at + length] for at in range(0, len(numbers), length or 1)]
        return numbers
    return numpy.ndarray(shape, f"<{code}", data)
