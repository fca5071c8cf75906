"""Messages and content blocks (floor 0): what is said and stored."""

from .arguments import parse_arguments
from .blocks import (
    AudioBlock,
    Base64Source,
    ContentBlock,
    DataBlock,
    HintBlock,
    ImageBlock,
    PermissionRule,
    Source,
    TextBlock,
    ThinkingBlock,
    ToolOutputBlock,
    ToolResultBlock,
    ToolUseBlock,
    URLSource,
    VideoBlock,
)
from .msg import AssistantMessage, ChatUsage, Msg, SystemMessage, ToolResultMessage, UserMessage
from .states import PAUSES, GenerateReason, MsgRole, PermissionBehavior, ToolCallState, ToolResultState

__all__ = [
    "PAUSES",
    "AssistantMessage",
    "AudioBlock",
    "Base64Source",
    "ChatUsage",
    "ContentBlock",
    "DataBlock",
    "GenerateReason",
    "HintBlock",
    "ImageBlock",
    "Msg",
    "MsgRole",
    "PermissionBehavior",
    "PermissionRule",
    "Source",
    "SystemMessage",
    "TextBlock",
    "ThinkingBlock",
    "ToolCallState",
    "ToolOutputBlock",
    "ToolResultBlock",
    "ToolResultMessage",
    "ToolResultState",
    "ToolUseBlock",
    "URLSource",
    "UserMessage",
    "VideoBlock",
    "parse_arguments",
]
