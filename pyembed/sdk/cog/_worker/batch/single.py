"""A request to a function without @batch, beside one that has it."""

from __future__ import annotations

import _px

from ..scope import Scope
from ..serve.sync import hook, keep
from ..serve.wire import EVENTS
from ..values.encode import encode

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ..serve.sync import Server

_SLOT = 0


class SingleRequest:
    """One such request, carried out as by the synchronous server."""

    def __init__(
        self,
        server: Server,
        id: int,
        flags: int,
        message: Any,
        error: BaseException | None,
    ) -> None:
        self._server = server
        self._flags = flags
        self._id = id
        self._observed = flags & EVENTS
        self._message = message
        self._error = error
        self.scope = Scope(message.get("context") if message else None)
        self.encoder: Any = encode

    def run(self) -> Any:
        """Call the function and return its output in the form of `_px.reply`."""
        if self._observed:
            self.scope.hook = hook(self._id, _SLOT)
            _px.started(_SLOT, self._id)
        if self._error is not None:
            raise self._error
        if "files" in self._message:
            self.encoder = keep(self._message["files"])
        function = self._server.function_of(self._flags, self._message)
        inputs = self._message["input"]
        if function.prepare is not None:
            inputs = function.prepare(inputs)
        value = function.predict(**inputs)
        if function.convert is not None and type(value) is not list:
            value = function.convert(value, self.encoder)
        if function.collect is None:
            return value
        if self._observed:
            return _px.emit_all(_SLOT, self._id, value, self.encoder)
        return function.collect(value, self.encoder)
