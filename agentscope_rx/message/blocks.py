"""Content blocks: what a message is made of.

Blocks are frozen; sequences in them are tuples. See "Content blocks" in "Messages and events" (消息与事件), a page of
the AgentScope Java documentation.

A block whose main field may be given by position has an `__init__` of its own, marked with pydantic's own
`__pydantic_base_init__` so that parsing does not go through it.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal, TypeAlias

from pydantic import Field

from ..identity import new_id
from .frozen import FrozenModel
from .states import PermissionBehavior, ToolCallState, ToolResultState

__all__ = [
    "AudioBlock",
    "Base64Source",
    "ContentBlock",
    "DataBlock",
    "HintBlock",
    "ImageBlock",
    "PermissionRule",
    "Source",
    "TextBlock",
    "ThinkingBlock",
    "ToolOutputBlock",
    "ToolResultBlock",
    "ToolUseBlock",
    "URLSource",
    "VideoBlock",
]


class Base64Source(FrozenModel):
    """Binary content carried in the message itself."""

    type: Literal["base64"] = "base64"
    media_type: str
    """MIME type, such as `image/png`."""
    data: str = Field(repr=False)
    """The content in standard base64."""


class URLSource(FrozenModel):
    """Binary content that lives elsewhere."""

    type: Literal["url"] = "url"
    url: str
    """Where the content is; kept as it was written."""
    media_type: str | None = None
    """MIME type, None when unknown."""


Source: TypeAlias = Annotated[Base64Source | URLSource, Field(discriminator="type")]
"""Where the bytes of a data block are."""


class TextBlock(FrozenModel):
    """Plain text."""

    type: Literal["text"] = "text"
    text: str
    """The text."""
    id: str | None = None
    """The block id of the events it came from, None if it came from none."""
    metadata: dict[str, Any] | None = None
    """What else was said about the text, such as the sources that it cites."""

    def __init__(self, text: str, **fields: Any) -> None:
        super().__init__(text=text, **fields)  # type: ignore[call-arg]

    __init__.__pydantic_base_init__ = True  # type: ignore[attr-defined]


class ThinkingBlock(FrozenModel):
    """What the model thought on its way to the answer."""

    type: Literal["thinking"] = "thinking"
    thinking: str
    """The thinking, "" when the provider hides it."""
    id: str | None = None
    """The block id of the events it came from, None if it came from none."""
    signature: str | None = None
    """The provider's proof of the block; replayed unchanged in the next request."""
    redacted_data: str | None = None
    """Encrypted thinking that only the provider can read; replayed unchanged."""
    metadata: dict[str, Any] | None = None
    """What else was said about the thinking. A block that holds nothing but metadata is work of the provider itself,
    such as a search: it has a place in the reply, and only the provider can read it."""

    def __init__(self, thinking: str, **fields: Any) -> None:
        super().__init__(thinking=thinking, **fields)  # type: ignore[call-arg]

    __init__.__pydantic_base_init__ = True  # type: ignore[attr-defined]


class DataBlock(FrozenModel):
    """An image, a sound, a video or a document."""

    type: Literal["data"] = "data"
    source: Source
    """Where the bytes are."""
    id: str = Field(default_factory=new_id)
    """The id of the block."""
    name: str | None = None
    """A file name, if there is one."""
    metadata: dict[str, Any] | None = None
    """What else was said about the content."""

    def __init__(self, source: Base64Source | URLSource | dict[str, Any], **fields: Any) -> None:
        super().__init__(source=source, **fields)  # type: ignore[call-arg]

    __init__.__pydantic_base_init__ = True  # type: ignore[attr-defined]


class PermissionRule(FrozenModel):
    """One rule about calls of one tool."""

    tool_name: str
    """The tool that the rule is about."""
    rule_content: str | None = None
    """The pattern that the tool matches against its input; None matches every call."""
    behavior: PermissionBehavior
    """What the rule says about a matching call."""
    source: str | None = None
    """Where the rule comes from, such as `suggested`."""


class ToolUseBlock(FrozenModel):
    """A tool call that the model made."""

    type: Literal["tool_use"] = "tool_use"
    id: str
    """The id of the call, unique within its reply."""
    name: str
    """The tool that is called."""
    input: dict[str, Any] = Field(default_factory=dict)
    """The arguments; empty while they stream, and when they cannot be parsed."""
    raw_input: str = ""
    """The arguments as the model wrote them, parsable or not."""
    state: ToolCallState = ToolCallState.PENDING
    """Where the call stands."""
    suggested_rules: tuple[PermissionRule, ...] = ()
    """Rules that would release this call and its like, offered when the user is asked."""
    signature: str | None = None
    """The provider's proof of the call; replayed unchanged in the next request."""
    metadata: dict[str, Any] | None = None
    """What else was said about the call."""


ToolOutputBlock: TypeAlias = Annotated[TextBlock | DataBlock, Field(discriminator="type")]
"""What a tool result is made of."""


class ToolResultBlock(FrozenModel):
    """What a tool call gave."""

    type: Literal["tool_result"] = "tool_result"
    id: str
    """The id of the call that this is the result of."""
    name: str
    """The tool that was called."""
    output: tuple[ToolOutputBlock, ...] = ()
    """The output, adjacent text in one block."""
    state: ToolResultState = ToolResultState.RUNNING
    """How the call ended."""
    metadata: dict[str, Any] | None = None
    """What the tool said about its result."""


class HintBlock(FrozenModel):
    """An instruction put into a running reply; the model is sent it as user context."""

    type: Literal["hint"] = "hint"
    id: str = Field(default_factory=new_id)
    """The id of the block."""
    hint: str | tuple[ToolOutputBlock, ...]
    """The instruction: text, or text and data blocks."""
    source: str | None = None
    """Who gave the hint."""


class _LegacyMedia(FrozenModel):
    source: Source
    """Where the bytes are."""

    def to_data_block(self) -> DataBlock:
        """Return the same content as a `DataBlock`."""
        return DataBlock(source=self.source)


class ImageBlock(_LegacyMedia):
    """An image, in the form that AgentScope 1 used; new code uses `DataBlock`."""

    type: Literal["image"] = "image"


class AudioBlock(_LegacyMedia):
    """A sound, in the form that AgentScope 1 used; new code uses `DataBlock`."""

    type: Literal["audio"] = "audio"


class VideoBlock(_LegacyMedia):
    """A video, in the form that AgentScope 1 used; new code uses `DataBlock`."""

    type: Literal["video"] = "video"


ContentBlock: TypeAlias = Annotated[
    TextBlock
    | ThinkingBlock
    | DataBlock
    | ToolUseBlock
    | ToolResultBlock
    | HintBlock
    | ImageBlock
    | AudioBlock
    | VideoBlock,
    Field(discriminator="type"),
]
"""Any block; parsed by its `type`."""
