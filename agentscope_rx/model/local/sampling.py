"""How the model is to sample its answer to a request, where nobody says otherwise.

Whether to call a tool is decided by one token, the marker that the template opens a call with. The model tells well
which questions are for a tool, but its threshold is off: it rises with every answer in plain text, and falls with every
call. A bias on that token takes this back.
"""

from __future__ import annotations

from collections.abc import Sequence

from ...message import Msg, MsgRole, ToolResultBlock, ToolUseBlock
from ..types import ModelOptions, ModelRequest
from .catalog import CallBias, EmbeddedModel
from .priming import may_call

__all__ = ["default_options"]


def default_options(request: ModelRequest, model: EmbeddedModel) -> ModelOptions:
    """Return the options for a request that has been primed."""
    options = model.options
    if _follows_result(request.messages):
        options = options.merged(model.report_options)
    if may_call(request) and (bias := _bias(request, model.call_bias)) is not None:
        options = options.merged(ModelOptions(extra_body={"logit_bias": [[model.call_bias.marker, bias]]}))
    return options


def _follows_result(messages: Sequence[Msg]) -> bool:
    """Tell whether the model is about to speak of tool results."""
    return bool(messages) and messages[-1].has_content_blocks(ToolResultBlock)


def _bias(request: ModelRequest, call_bias: CallBias) -> float | None:
    """Return what to add to the logit of the marker, None for nothing."""
    if request.options.tool_choice not in (None, "auto"):
        return call_bias.limit
    return None if _follows_result(request.messages) else call_bias.after(_streak(request.messages))


def _streak(messages: Sequence[Msg]) -> int:
    """Return how many replies in a row, up to now, were plain text, or how many had a call: those count negative."""
    streak = 0
    for message in reversed(messages):
        if message.role is MsgRole.ASSISTANT:
            step = -1 if message.has_content_blocks(ToolUseBlock) else 1
            if streak * step < 0:
                break
            streak += step
    return streak
