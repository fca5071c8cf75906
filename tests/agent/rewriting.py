"""Operators that rewrite what a model or a tool says, and what must then be true of the message."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from reactivex import operators as ops

from agentscope_rx import (
    Msg,
    TextBlock,
    TextBlockDeltaEvent,
    ThinkingBlock,
    ThinkingBlockDeltaEvent,
    ThinkingBlockEndEvent,
    ThinkingBlockStartEvent,
    ToolCallDeltaEvent,
    ToolResultBlock,
    ToolResultState,
    ToolResultTextDeltaEvent,
    ToolUseBlock,
)
from agentscope_rx.operators import Stage, stage

__all__ = ["REWRITES", "Rewrite"]


@dataclass(frozen=True)
class Rewrite:
    """One operator."""

    name: str
    """What it does."""
    places: tuple[str, ...]
    """The hooks that it may be given to."""
    operator: Any
    """The operator."""
    holds_of: Callable[[Msg], bool]
    """What is true of the message afterwards, and would not be without it."""

    def __repr__(self) -> str:
        return self.name


def changing(kind: type[Any], change: Callable[[str], str]) -> Any:
    return ops.map(
        lambda event: event.model_copy(update={"delta": change(event.delta)}) if isinstance(event, kind) else event
    )


class Twice(Stage[Any, Any]):
    """Gives every piece of text two times, the same object."""

    def on_next(self, event: Any, /) -> list[Any]:
        return [event] * (1 + isinstance(event, TextBlockDeltaEvent))


def texts_of(message: Msg) -> Iterator[str]:
    return (block.text for block in message.get_content_blocks(TextBlock))


def outputs_of(message: Msg) -> Iterator[str]:
    """The text that tools gave here; a result that is no success may be the agent's own word."""
    for result in message.get_content_blocks(ToolResultBlock):
        if result.state is ToolResultState.SUCCESS and result.name != "outside":
            yield from (block.text for block in result.output if isinstance(block, TextBlock))


_THOUGHT = ThinkingBlockStartEvent | ThinkingBlockDeltaEvent | ThinkingBlockEndEvent
_MODEL = ("on_agent", "on_reasoning", "on_model_call")
_TOOLS = ("on_agent", "on_acting", "on_tool_call")

REWRITES = (
    Rewrite(
        "loud text",
        _MODEL,
        changing(TextBlockDeltaEvent, str.upper),
        lambda message: all(text == text.upper() for text in texts_of(message)),
    ),
    Rewrite(
        "text said twice",
        _MODEL,
        stage(Twice),
        lambda message: all(text.count("Hello") % 2 == 0 for text in texts_of(message)),
    ),
    Rewrite(
        "no thoughts",
        _MODEL,
        ops.filter(lambda event: not isinstance(event, _THOUGHT)),
        lambda message: not message.get_content_blocks(ThinkingBlock),
    ),
    Rewrite(
        "other arguments",
        _MODEL,
        changing(ToolCallDeltaEvent, lambda delta: delta.replace("1", "7")),
        lambda message: all("1" not in call.raw_input for call in message.get_content_blocks(ToolUseBlock)),
    ),
    Rewrite(
        "loud results",
        _TOOLS,
        changing(ToolResultTextDeltaEvent, str.upper),
        lambda message: all(text == text.upper() for text in outputs_of(message)),
    ),
)
"""All of them."""
