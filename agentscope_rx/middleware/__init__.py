"""Middleware (floor 6): what an application puts around the stages of its agents."""

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
from .budget import Budget
from .chain import Chain, MiddlewareLike
from .fallback import FallbackModel
from .rate_limit import RateLimit
from .task_reminder import TaskReminder, Todo
from .timing import Timing

__all__ = [
    "ActingInput",
    "AgentCallInput",
    "AgentLike",
    "Budget",
    "Chain",
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
]
