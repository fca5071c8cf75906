"""Traces of what agents do, by the GenAI semantic conventions of OpenTelemetry."""

from .middleware import Tracing

__all__ = ["Tracing"]
