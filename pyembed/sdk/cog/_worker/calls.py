"""Calls of other models: one socket for each, on which the front answers one request.

`serving_calls.c` gives the front its end. `ipc/PROTOCOL.md` shows the frames.
"""

from __future__ import annotations

import _socket
import os
import sys
from contextlib import nullcontext
from functools import cache
from weakref import WeakKeyDictionary

from ..errors import CallError
from .callfiles import InputFiles, restore
from .callitems import Feed, take_source
from .scope import INACTIVE, current_scope
from .serve.wire import CALL, FAILED, OUTPUT, READ, STARTED, SUCCEEDED

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Generator, Iterator
    from typing import Any

    from .scope import Scope

_HEADER = 24
_FILE = 1  # the flag of a frame whose body is a file
_INLINE = 16 << 20  # bytes; a larger body goes by a file
_CHUNK = 64 << 10
_READ_ITEMS = 32  # so many, or so many bytes of them, are reported as read
_READ_BYTES = 512 << 10
_UNLIMITED = 1 << 20
_unlocked = nullcontext()


class Call:
    """One call. Nothing happens before it is run, awaited or iterated."""

    def __init__(self, function: str, model: str, inputs: dict[str, Any]) -> None:
        if not isinstance(model, str):
            raise TypeError(f"cog.{function}: model must be a str, not {type(model).__name__}")
        self._model = model
        self._inputs = inputs
        self._stream, self._source = take_source(function, inputs)
        self._scope = _scope_of(function, model)

    def _exchange(self) -> Exchange:
        return Exchange(self._model, self._inputs, self._scope, self._stream, self._source)

    def run(self) -> Any:
        """Carry the call out, and wait for it."""
        with _turns():
            return self._run()

    def _run(self) -> Any:
        exchange = self._exchange()
        try:
            exchange.send()
            kind, value = exchange.result(exchange.receive())
            if kind == STARTED:
                items = _items(exchange)
                next(items)  # from here on it closes the socket
                exchange = None  # type: ignore[assignment]
                return items
            return value
        finally:
            if exchange is not None:
                exchange.close()

    def __await__(self) -> Generator[Any, None, Any]:
        return self._output().__await__()

    async def _output(self) -> Any:
        async with _loop_turns():
            return await self._whole_output()

    async def _whole_output(self) -> Any:
        exchange = self._exchange()
        try:
            await exchange.send_async()
            kind, value = exchange.result(await exchange.receive_async())
            if kind != STARTED:
                return value
            items: list[Any] = []
            while True:
                kind, value = exchange.result(await exchange.receive_async())
                if kind != OUTPUT:
                    return items
                items.append(value)
        finally:
            exchange.close()

    async def __aiter__(self) -> AsyncIterator[Any]:
        exchange = self._exchange()
        try:
            await exchange.send_async()
            kind, value = exchange.result(await exchange.receive_async())
            if kind != STARTED:
                raise CallError(
                    f'model "{self._model}" does not yield items: await the call instead'
                )
            while True:
                kind, value = exchange.result(await exchange.receive_async())
                if kind != OUTPUT:
                    return
                yield value
        finally:
            exchange.close()


def _items(exchange: Exchange) -> Iterator[Any]:
    """Yield None at once, and then the items of a call."""
    try:
        yield None
        while True:
            kind, value = exchange.result(exchange.receive())
            if kind != OUTPUT:
                return
            yield value
    finally:
        exchange.close()


def _scope_of(function: str, model: str) -> Scope:
    """Return the scope of the running prediction, or raise CallError if it cannot call."""
    scope = current_scope()
    if scope is INACTIVE:
        raise CallError(f"cog.{function} works only while a prediction runs")
    import _px

    if not scope.calls:
        raise CallError(f'cannot call model "{model}": this server has only one model')
    if _px.is_child():
        raise CallError(f"cog.{function} does not work in a process that the model forked")
    if scope.owner is None and scope is not _px.scope():
        raise CallError(
            f"cog.{function} works only while a prediction runs, and this one has ended"
        )
    return scope


class Exchange:
    """The socket of one call."""

    def __init__(
        self, model: str, inputs: dict[str, Any], scope: Scope, stream: str = "", source: Any = None
    ) -> None:
        import _px

        self._px: Any = _px
        self._model = model
        files = InputFiles(scope.calls)
        self._remove = files.remove
        try:
            message = {
                "model": model,
                "input": inputs,
                "token": files.token,
                "files": files.paths,  # after the input, in which they are found
                **_trace(scope),
            }
            if source is not None:
                message["stream"] = stream  # the input whose items follow
            self._body = self.dumps(message, files)
            slot, id = scope.owner or (-1, 0)
            self._socket = _socket.socket(fileno=_px.open_call(slot, id))
        except BaseException:
            files.remove()
            raise
        self._received = bytearray()
        self._descriptors: list[int] = []
        self._items = self._bytes = 0  # read, and not reported
        self._feed = None if source is None else Feed(self, source, scope.calls)
        self._lock: Any = None  # of what a thread that feeds writes
        self._sending = False  # a frame is written in parts

    def close(self) -> None:
        """End the call: the front cancels what still runs."""
        if self._feed is not None:
            self._feed.close()
        if self._lock is not None:
            try:
                self._socket.shutdown(_socket.SHUT_RDWR)  # wakes a thread that writes
            except OSError:
                pass  # it is closed
            with self._lock:
                self._socket.close()
        self._socket.close()
        for descriptor in self._descriptors:
            os.close(descriptor)
        self._descriptors = []
        self._remove()

    def dumps(self, message: dict[str, Any], files: InputFiles) -> bytes:
        """Return a message as JSON, whose files are added to those."""
        body: bytes = self._px.dumps(message, files.encoder())
        return body

    def _frame(self, kind: int, flags: int, body: bytes) -> tuple[bytes, int | None]:
        """Return what to send, and a file to send with it."""
        if len(body) <= _INLINE:
            return len(body).to_bytes(4, "little") + bytes((kind, flags, *bytes(18))) + body, None
        file = os.memfd_create("pinion-body", os.MFD_CLOEXEC)
        try:
            view = memoryview(body)
            while view:
                view = view[os.write(file, view) :]
        except BaseException:
            os.close(file)
            raise
        return bytes(4) + bytes((kind, flags | _FILE, *bytes(18))), file

    def _start(self, kind: int, flags: int, body: bytes) -> memoryview:
        """Send the file, if there is one; return what is left to send."""
        data, file = self._frame(kind, flags, body)
        if file is None:
            return memoryview(data)
        try:
            rights = (_socket.SOL_SOCKET, _socket.SCM_RIGHTS, file.to_bytes(4, sys.byteorder))
            return memoryview(data)[self._socket.sendmsg([data], [rights]) :]
        finally:
            os.close(file)

    def send(self) -> None:
        """Send the request."""
        body, self._body = self._body, b""
        try:
            self._socket.sendall(self._start(CALL, 0, body))
        except OSError:
            raise self._ended() from None
        if self._feed is not None:
            from threading import Lock

            self._lock = Lock()
            self._feed.start_thread()

    def send_frame(self, kind: int, flags: int, body: bytes) -> None:
        """Send a frame from the thread that feeds."""
        with self._lock:
            self._socket.sendall(self._start(kind, flags, body))

    async def send_async(self) -> None:
        """Send the request without blocking the event loop."""
        self._socket.setblocking(False)
        body, self._body = self._body, b""
        try:
            await self.send_frame_async(CALL, 0, body)
        except OSError:
            raise self._ended() from None
        if self._feed is not None:
            self._feed.start_task()

    async def send_frame_async(self, kind: int, flags: int, body: bytes) -> None:
        """Send a frame without blocking the event loop."""
        left = self._start(kind, flags, body)
        self._sending = True
        while left:
            try:
                left = left[self._socket.send(left) :]
            except BlockingIOError:
                await _ready(self._socket.fileno(), "writer")
        self._sending = False

    def receive(self) -> tuple[int, bytes]:
        """Return the next frame's kind and body."""
        while True:
            while (want := self._missing()) > 0:
                self._fill(want)
            if (frame := self._take()) is not None:
                return frame

    async def receive_async(self) -> tuple[int, bytes]:
        """Return the next frame's kind and body without blocking the event loop."""
        while True:
            while (want := self._missing()) > 0:
                try:
                    self._fill(want)
                except BlockingIOError:
                    await _ready(self._socket.fileno(), "reader")
            if (frame := self._take()) is not None:
                return frame

    def _missing(self) -> int:
        """Return how many bytes the next frame lacks."""
        have = len(self._received)
        if have < _HEADER:
            return _HEADER - have
        return _HEADER + int.from_bytes(self._received[:4], "little") - have

    def _fill(self, want: int) -> None:
        try:
            data, ancillary, _, _ = self._socket.recvmsg(
                max(want, _CHUNK), _socket.CMSG_SPACE(16), _socket.MSG_CMSG_CLOEXEC
            )
        except ConnectionError:
            raise self._ended() from None
        for _, _, rights in ancillary:
            for at in range(0, len(rights) - 3, 4):
                self._descriptors.append(int.from_bytes(rights[at : at + 4], sys.byteorder))
        if not data:
            raise self._ended()
        self._received += data

    def _take(self) -> tuple[int, bytes] | None:
        """Return the next frame, None if it was for the feed."""
        received = self._received
        kind, flags = received[4], received[5]
        if kind == READ and self._feed is not None:
            items = int.from_bytes(received[8:16], "little")
            del received[:_HEADER]
            self._feed.took(items)
            return None
        end = _HEADER + int.from_bytes(received[:4], "little")
        body = bytes(memoryview(received)[_HEADER:end])
        del received[:end]
        if flags & _FILE:
            descriptor = self._descriptors.pop(0)
            os.lseek(descriptor, 0, os.SEEK_SET)
            with open(descriptor, "rb", buffering=0) as file:
                body = file.readall()
        if kind == OUTPUT:
            self._report(len(body))
        return kind, body

    def _report(self, size: int) -> None:
        """Let the other model go on: an item of that size is read."""
        self._items += 1
        self._bytes += size
        if self._sending or (self._items < _READ_ITEMS and self._bytes < _READ_BYTES):
            return
        header = bytes(4) + bytes((READ, 0, 0, 0)) + self._items.to_bytes(8, "little") + bytes(8)
        try:
            with self._lock or _unlocked:
                self._socket.sendall(header)  # there is room: the front always reads
        except OSError:
            return  # the call has ended, as the next frame says
        self._items = self._bytes = 0

    def result(self, frame: tuple[int, bytes]) -> tuple[int, Any]:
        """Return the kind of a frame and its value, or raise its error."""
        kind, body = frame
        if kind == STARTED:
            return kind, None
        message = self._px.loads_tensors(body)
        if kind == FAILED:
            if self._feed is not None and self._feed.error is not None:
                raise self._feed.error  # the caller's own
            raise CallError(message["error"])
        if kind not in (OUTPUT, SUCCEEDED):
            raise CallError(f'the call of model "{self._model}" got a frame of kind {kind}')
        value = message["output"]
        files = message.get("files")
        if files is not None or b"\x01" in body:
            value = restore(value, files)
        return kind, value

    def _ended(self) -> CallError:
        return CallError(
            f'the prediction that calls model "{self._model}" has ended, or the server can open no '
            "more files (ulimit -n)"
        )


@cache
def _turns() -> Any:
    """Return what lets as many calls of threads be open at once as there are descriptors for."""
    from threading import BoundedSemaphore

    return BoundedSemaphore(_most())


def _loop_turns() -> Any:
    """Return the same for the calls on the running loop."""
    from asyncio import Semaphore, get_running_loop

    loop = get_running_loop()
    turns = _by_loop.get(loop)
    if turns is None:
        turns = _by_loop[loop] = Semaphore(_most())
    return turns


_by_loop: WeakKeyDictionary[Any, Any] = WeakKeyDictionary()


def _most() -> int:
    """Return how many calls may be open at once: the server has a descriptor for each as well."""
    from resource import RLIMIT_NOFILE, getrlimit

    own, most = getrlimit(RLIMIT_NOFILE)  # the server has raised its own to the most
    return max(8, min(limit if limit > 0 else _UNLIMITED for limit in (own, most)) // 4)


async def _ready(fd: int, kind: str) -> None:
    """Wait until a descriptor can be read or written."""
    from asyncio import get_running_loop

    loop = get_running_loop()
    future = loop.create_future()

    def wake() -> None:
        if not future.done():
            future.set_result(None)

    getattr(loop, f"add_{kind}")(fd, wake)
    try:
        await future
    finally:
        getattr(loop, f"remove_{kind}")(fd)


def _trace(scope: Scope) -> dict[str, str]:
    """Return the context of the span in which the call is made."""
    carrier: dict[str, str] = {}
    propagation = sys.modules.get("opentelemetry.trace.propagation.tracecontext")
    if propagation is not None:
        propagation.TraceContextTextMapPropagator().inject(carrier)
    if "traceparent" not in carrier:
        carrier = scope.context
    return {name: carrier[name] for name in ("traceparent", "tracestate") if name in carrier}
