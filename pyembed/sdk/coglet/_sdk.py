"""The scope of the running prediction, under the name that the official package uses."""

from cog._worker.scope import MetricRecorder, Scope, current_scope

__all__ = ["MetricRecorder", "Scope", "current_scope"]
