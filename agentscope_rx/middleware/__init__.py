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
from .chain import Chain, MiddlewareLike
from .fallback import FallbackModel

__all__ = [
    "ActingInput",
    "AgentCallInput",
    "AgentLike",
    "Chain",
    "FallbackModel",
    "Middleware",
    "MiddlewareLike",
    "ModelCallInput",
    "Next",
    "ReasoningInput",
    "ToolCallInput",
]
