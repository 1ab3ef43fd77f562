"""The model's own OpenTelemetry spans, as children of its predictions' spans.

The front sends each traced prediction's context as its scope's `traceparent`. This module is
imported only where the front traces.
"""

# opentelemetry is installed by the model, or not at all.
# pyright: reportMissingImports=false

from __future__ import annotations

import sys
from inspect import signature
from threading import Thread

from .scope import current

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from types import ModuleType
    from typing import Any

# How long the end of the worker waits for the model's spans, in seconds.
_FLUSH_LIMIT = 0.3

_ALWAYS = ("always_on", "parentbased_always_on")


class Tracing:
    """The model's telemetry: its providers, and the contexts of its predictions."""

    def __init__(self, config: dict[str, Any], root: str) -> None:
        """Install providers. Raise if the model's hooks are wrong."""
        self._providers: list[Any] = []
        self._attach: Callable[[dict[str, str]], Any] | None = None
        try:
            from opentelemetry.context import attach
            from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator
        except ImportError:
            if config.get("hooks"):
                raise RuntimeError(
                    f"{config['hooks']} needs opentelemetry-sdk in the model's environment"
                ) from None
            return
        extract = TraceContextTextMapPropagator().extract
        self._attach = lambda carrier: attach(extract(carrier))
        if config.get("hooks"):
            self._use_hooks(_load(config["hooks"], root), config)
        else:
            self._use_default(config)

    def enter_setup(self, context: str) -> Callable[[], None]:
        """Enter the context of the setup; return what leaves it."""
        if self._attach is None or not context:
            return lambda: None
        from opentelemetry.context import detach

        token = self._attach({"traceparent": context})
        return lambda: detach(token)

    def follow(self, function: Any) -> Any:
        """Return a function that runs in the context of its prediction.

        Nothing is detached: each prediction has a copy of the context, which is dropped.
        """
        attach = self._attach
        if attach is None:
            return function

        def following(*values: Any, **inputs: Any) -> Any:
            context = current.get()._context
            if context is not None and "traceparent" in context:
                attach(context)
            return function(*values, **inputs)

        return following

    def stop(self) -> None:
        """Send what waits, for a moment at most."""
        if self._providers:
            flush = Thread(target=self._shutdown, daemon=True)
            flush.start()
            flush.join(_FLUSH_LIMIT)

    def _shutdown(self) -> None:
        for provider in self._providers:
            provider.shutdown()

    def _use_default(self, config: dict[str, Any]) -> None:
        try:
            self._send_spans(config)
        except Exception as error:  # it may be a platform's variable that the model's SDK refuses
            packages = "opentelemetry-sdk and opentelemetry-exporter-otlp"
            hint = f"; install {packages}" if isinstance(error, ImportError) else ""
            print(
                f"cog: warning: the model's spans are not sent: {error}{hint}",
                file=sys.stderr,
            )

    def _send_spans(self, config: dict[str, Any]) -> None:
        from opentelemetry import trace

        if not isinstance(trace.get_tracer_provider(), trace.ProxyTracerProvider):
            return  # the model's own
        from opentelemetry.sdk.trace import TracerProvider
        from opentelemetry.sdk.trace.export import BatchSpanProcessor
        from opentelemetry.sdk.trace.sampling import ALWAYS_OFF, ALWAYS_ON, ParentBased

        exporter = _exporter(config)
        # The front samples. What has no context belongs to no prediction.
        sampler = ParentBased(ALWAYS_ON if config["sampler"] in _ALWAYS else ALWAYS_OFF)
        provider = TracerProvider(
            resource=_resource(config), sampler=sampler, shutdown_on_exit=False
        )
        provider.add_span_processor(BatchSpanProcessor(exporter))
        trace.set_tracer_provider(provider)
        self._providers.append(provider)

    def _use_hooks(self, module: ModuleType, config: dict[str, Any]) -> None:
        from opentelemetry import metrics, trace
        from opentelemetry.sdk.trace import TracerProvider

        make = _hook(module, "create_tracer_provider")
        if make is None:
            raise RuntimeError(f"{module.__file__}: it must define create_tracer_provider")
        resource = _resource(config)
        provider = make(resource) if signature(make).parameters else make()
        if not isinstance(provider, TracerProvider):
            raise RuntimeError(
                f"{module.__file__}: create_tracer_provider returned "
                f"{type(provider).__qualname__}, but must return a TracerProvider"
            )
        self._providers.append(provider)
        if not isinstance(trace.get_tracer_provider(), trace.ProxyTracerProvider):
            raise RuntimeError("the model has installed a TracerProvider, beside telemetry.py")
        trace.set_tracer_provider(provider)
        meters = _hook(module, "create_meter_provider")
        if meters is not None:
            provider = meters(resource)
            metrics.set_meter_provider(provider)
            self._providers.append(provider)
        instrument = _hook(module, "configure_instrumentation")
        if instrument is not None:
            instrument()


def _hook(module: ModuleType, name: str) -> Any:
    hook = getattr(module, name, None)
    if hook is not None and not callable(hook):
        raise RuntimeError(f"{module.__file__}: {name} is not a function")
    return hook


def _load(path: str, root: str) -> ModuleType:
    from importlib.util import module_from_spec, spec_from_file_location
    from os.path import isfile, join

    path = join(root, path)  # an absolute path stays as it is
    spec = spec_from_file_location("_cog_telemetry", path)
    if not isfile(path) or spec is None or spec.loader is None:
        raise RuntimeError(
            f"observability.config or COG_OBSERVABILITY_CONFIG: file {path} does not exist"
        )
    module = module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def _resource(config: dict[str, Any]) -> Any:
    from opentelemetry.sdk.resources import Resource

    return Resource.create({"service.name": config["service"], "cog.process.role": "worker"})


def _exporter(config: dict[str, Any]) -> Any:
    """Return an exporter. It reads headers, timeouts and certificates from the environment."""
    if config["grpc"]:
        from opentelemetry.exporter.otlp.proto.grpc.trace_exporter import OTLPSpanExporter as Grpc

        return Grpc(endpoint=config["endpoint"])
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter as Http

    return Http(endpoint=config["endpoint"])
