"""Every bench, in the order in which they are run."""

from __future__ import annotations

from . import folds, imports, middleware, pipeline, slow_consumer, tracing, wire
from .bench import Bench

__all__ = ["BENCHES"]

BENCHES: tuple[Bench, ...] = (
    pipeline.BENCH,
    wire.BENCH,
    middleware.BENCH,
    tracing.BENCH,
    folds.BENCH,
    slow_consumer.BENCH,
    imports.BENCH,
)
