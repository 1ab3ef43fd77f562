"""Tells the front which batches methods have run, for its metrics and traces."""

from __future__ import annotations

import time
from os import urandom

import _px

from ..errors import one_line
from ..serve.wire import METHOD_BATCHES

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

DELAY = 0.25  # s, of the first batch that is reported
_MOST = 1000  # batches of a report
_MOST_LINKS = 128  # of a span: OpenTelemetry's limit
_MOST_TEXT = 500  # characters of an error
_SAMPLED = tuple("13579bdf")  # last characters of a traceparent


class BatchTrace:
    """The span of a batch with traced predictions.

    sampled  one of its predictions is
    parent   the traceparent for spans that the model makes in the method
    links    traceparents of the predictions
    began    ns since 1970
    """

    __slots__ = ("began", "links", "parent", "sampled")

    def __init__(self, links: list[str]) -> None:
        self.sampled = any(link[-1:] in _SAMPLED for link in links)
        self.parent = f"00-{urandom(16).hex()}-{urandom(8).hex()}-{self.sampled:02x}"
        self.links = links[:_MOST_LINKS]
        self.began = time.time_ns()


def trace_of(contexts: list[dict[str, str] | None]) -> BatchTrace | None:
    """Return the span of a batch of predictions with these contexts; None if none is traced."""
    parents = [context.get("traceparent") for context in contexts if context]
    links = [parent for parent in parents if type(parent) is str]  # the model may have changed it
    return BatchTrace(links) if links else None


class BatchReport:
    """The batches since the last report, by method: size, wait and time in ns, and again."""

    def __init__(self) -> None:
        self.began = 0  # when the first of them was added, by perf_counter_ns
        self._batches: dict[str, list[int]] = {}
        self._spans: list[dict[str, Any]] = []
        self._count = 0

    def add(self, method: str, size: int, wait: int, took: int) -> bool:
        """Add a batch; return whether it is the first, and the report is to be sent soon."""
        batches = self._batches.get(method)
        if batches is None:
            batches = self._batches[method] = []
        batches += (size, wait, took)
        self._count += 1
        if self._count == 1:
            self.began = time.perf_counter_ns()
        elif self._count >= _MOST:
            self.send()
        return self._count == 1

    def due(self) -> float:
        """Return in how many seconds it is to be sent; infinite if it is empty."""
        if not self._count:
            return float("inf")
        return DELAY - (time.perf_counter_ns() - self.began) / 1e9

    def add_span(
        self, method: str, size: int, took: int, of: BatchTrace, error: BaseException | None
    ) -> None:
        """Add the span of a batch that was added, before it."""
        span = {"method": method, "size": size, "took": took, "began": of.began}
        span |= {"parent": of.parent, "links": of.links}
        if error is not None:
            span["error"] = one_line(error)[:_MOST_TEXT]
        self._spans.append(span)

    def send(self) -> None:
        """Send what there is."""
        if not self._count:
            return
        report = {"batches": self._batches, "spans": self._spans}
        self._batches, self._spans, self._count = {}, [], 0
        _px.control(METHOD_BATCHES, report)
