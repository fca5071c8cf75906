"""The chain: the middlewares of one agent, in order, around each of its stages."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from typing import Any, TypeAlias

from reactivex import Observable

from ..context import RuntimeContext
from ..errors import AgentScopeError, ConfigurationError, MiddlewareError
from ..event import AgentEvent
from ..operators import Hook, Operator
from .base import AgentLike, Middleware, Next

__all__ = ["HOOKS", "Chain", "MiddlewareLike"]

MiddlewareLike: TypeAlias = Middleware | Hook
"""A middleware, or the operators that `hook` makes."""

HOOKS = ("on_agent", "on_reasoning", "on_model_call", "on_acting", "on_tool_call")
"""The hooks that are around a stage."""

_Link: TypeAlias = tuple[str, Callable[..., Any]]


class Chain:
    """The hooks of some middlewares, outermost first; a middleware is part of the chains of what it overrides."""

    def __init__(self, middlewares: Iterable[MiddlewareLike]) -> None:
        given = list(middlewares)
        for middleware in given:
            if not isinstance(middleware, Middleware | Hook):
                raise ConfigurationError(
                    f"a middleware is a Middleware or a hook(...): got {type(middleware).__name__}"
                )
        ordered = sorted(given, key=lambda middleware: -_order(middleware))
        self._links: dict[str, tuple[_Link, ...]] = {
            name: tuple(link for middleware in ordered if (link := _link(middleware, name)) is not None)
            for name in HOOKS
        }
        self._prompts = tuple(
            (_label(middleware, "on_system_prompt"), middleware.on_system_prompt)
            for middleware in ordered
            if isinstance(middleware, Middleware) and _overrides(middleware, "on_system_prompt")
        )

    def names(self, hook: str) -> str:
        """Name the middlewares around a stage, for errors; "" when there is none."""
        return ", ".join(label for label, _ in self._links[hook])

    def around(self, hook: str, agent: AgentLike, context: RuntimeContext, stage: Next[Any]) -> Next[Any]:
        """Return `stage` with the hooks around it; `stage` itself when there is none."""
        for label, function in reversed(self._links[hook]):
            stage = partial(_enter, label, function, agent, context, stage)
        return stage

    def blame(self, error: Exception, *hooks: str) -> Exception:
        """Return the error of a stage as it is, or the MiddlewareError to raise from it.

        The stages themselves fail with typed errors alone (and an AssertionError is a test double's), so any other
        error comes from an operator that one of `hooks` put there.
        """
        names = ", ".join(filter(None, map(self.names, hooks)))
        if isinstance(error, AgentScopeError | AssertionError) or not names:
            return error
        return MiddlewareError(f"one of {names} failed with {type(error).__name__}")

    def system_prompt(self, agent: AgentLike, context: RuntimeContext, prompt: str) -> str:
        """Return the prompt as the middlewares leave it."""
        for label, change in self._prompts:
            prompt = _blaming(label, change, agent, context, prompt)
            if not isinstance(prompt, str):
                raise MiddlewareError(f"{label} returns the prompt, a str: got {type(prompt).__name__}")
        return prompt


def _order(middleware: MiddlewareLike) -> int:
    return middleware.order if isinstance(middleware, Middleware) else Middleware.order


def _overrides(middleware: Middleware, hook: str) -> bool:
    return hook in vars(middleware) or getattr(type(middleware), hook) is not getattr(Middleware, hook)


def _link(middleware: MiddlewareLike, hook: str) -> _Link | None:
    label = _label(middleware, hook)
    if isinstance(middleware, Hook):
        operator = getattr(middleware, hook)
        return None if operator is None else (label, partial(_operate, operator))
    return (label, getattr(middleware, hook)) if _overrides(middleware, hook) else None


def _label(middleware: MiddlewareLike, hook: str) -> str:
    return f"{type(middleware).__name__}.{hook}"


def _operate(
    operator: Operator[AgentEvent, AgentEvent], agent: AgentLike, context: RuntimeContext, input: Any, next: Next[Any]
) -> Observable[AgentEvent]:
    return operator(next(input))


def _enter(
    label: str, hook: Callable[..., Any], agent: AgentLike, context: RuntimeContext, next: Next[Any], input: Any
) -> Observable[AgentEvent]:
    stage = _blaming(label, hook, agent, context, input, next)
    if not isinstance(stage, Observable):
        raise MiddlewareError(f"{label} returns an Observable of events: got {type(stage).__name__}")
    return stage


def _blaming(label: str, hook: Callable[..., Any], *args: Any) -> Any:
    """Call a hook; what it raises is its own."""
    try:
        return hook(*args)
    except AgentScopeError:
        raise
    except Exception as error:
        raise MiddlewareError(f"{label} raised {type(error).__name__}") from error
