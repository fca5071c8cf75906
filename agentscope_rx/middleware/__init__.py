"""Middleware (floor 6): what an application puts around the stages of its agents.

What every agent needs loads with the package; the ready-made ones when they are first asked for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..lazy import lazily
from .base import (
    ActingInput,
    AgentCallInput,
    AgentLike,
    Middleware,
    ModelCallInput,
    Next,
    ReasoningInput,
    ToolCallInput,
)
from .chain import Chain, MiddlewareLike

if TYPE_CHECKING:
    from .budget import Budget
    from .context_window import ContextWindow, estimate_tokens
    from .fallback import FallbackModel
    from .rate_limit import RateLimit
    from .task_reminder import TaskReminder, Todo
    from .timing import Timing
    from .tracing import Tracing

__all__ = [
    "ActingInput",
    "AgentCallInput",
    "AgentLike",
    "Budget",
    "Chain",
    "ContextWindow",
    "FallbackModel",
    "Middleware",
    "MiddlewareLike",
    "ModelCallInput",
    "Next",
    "RateLimit",
    "ReasoningInput",
    "TaskReminder",
    "Timing",
    "Todo",
    "ToolCallInput",
    "Tracing",
    "estimate_tokens",
]

_LAZY = {
    "Budget": ".budget",
    "ContextWindow": ".context_window",
    "FallbackModel": ".fallback",
    "RateLimit": ".rate_limit",
    "TaskReminder": ".task_reminder",
    "Timing": ".timing",
    "Todo": ".task_reminder",
    "Tracing": ".tracing",
    "estimate_tokens": ".context_window",
}

__getattr__ = lazily(__name__, _LAZY)
