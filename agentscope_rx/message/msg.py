"""Messages: one turn of a conversation.

See "Messages" in "Messages and events" (消息与事件), a page of the AgentScope Java documentation.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, ClassVar, Literal, Self, TypeVar

from pydantic import BaseModel, Field, ModelWrapValidatorHandler, TypeAdapter, model_validator
from pydantic_core import to_json

from ..identity import UtcDatetime, new_id, now
from .blocks import (
    AudioBlock,
    ContentBlock,
    DataBlock,
    ImageBlock,
    TextBlock,
    VideoBlock,
)
from .frozen import FrozenModel
from .states import GenerateReason, MsgRole

__all__ = ["AssistantMessage", "ChatUsage", "Msg", "SystemMessage", "ToolResultMessage", "UserMessage"]

B = TypeVar("B", bound=BaseModel)
T = TypeVar("T")


class ChatUsage(FrozenModel):
    """What a reply cost. None means unknown, never zero by guess."""

    input_tokens: int | None = None
    """Tokens of the prompts, cached ones included."""
    output_tokens: int | None = None
    """Tokens that the model wrote, reasoning included."""
    cached_input_tokens: int | None = None
    """Those of `input_tokens` that came from a cache."""
    reasoning_tokens: int | None = None
    """Those of `output_tokens` that were reasoning."""
    total_tokens: int | None = None
    """Input and output together."""
    time: float | None = None
    """Seconds spent in model calls."""


class Msg(FrozenModel):
    """One turn of a conversation: a user's input, an agent's reply, or an instruction.

    The last positional arguments are the content, and a plain string becomes one `TextBlock`. So
    `UserMessage("hi")`, `UserMessage("user", "hi")`, `UserMessage("user", TextBlock("hi"), DataBlock(...))` and
    `UserMessage(name="user", content="hi")` all work. A `Msg` with a role is an instance of the class of that role.

    Raises:
        pydantic.ValidationError: when the role may not hold one of the blocks, at construction and at parse.
    """

    id: str = Field(default_factory=new_id)
    """The id of the message; of a reply, its `reply_id`."""
    name: str = ""
    """Who speaks; the role, when not given."""
    role: MsgRole
    """The role of the speaker."""
    content: tuple[ContentBlock, ...] = ()
    """The blocks, in the order in which they happened."""
    metadata: dict[str, Any] | None = None
    """Anything else, by key."""
    timestamp: UtcDatetime = Field(default_factory=now)
    """When the message began, in UTC."""
    usage: ChatUsage | None = None
    """What the reply cost, None when unknown."""
    generate_reason: GenerateReason | None = None
    """Why the reply ended, None until it has."""
    structured_output: dict[str, Any] | None = None
    """The object that the reply was asked for, if it was."""

    _allowed: ClassVar[tuple[tuple[type[BaseModel], ...], str] | None] = None
    """The blocks that this role may hold and their names; None allows every block."""

    def __new__(cls, *args: Any, **fields: Any) -> Self:
        """Make an instance of the class of the role."""
        if cls is Msg and (concrete := _class_of_role(fields.get("role"))) is not None:
            return object.__new__(concrete)  # type: ignore[return-value]
        return super().__new__(cls)

    def __init__(self, *args: Any, **fields: Any) -> None:
        if args:
            if "content" in fields:
                raise TypeError("content was given twice: as positional arguments and as content=")
            if len(args) > 1 and isinstance(args[0], str):
                if "name" in fields:
                    raise TypeError("name was given twice: as the first positional argument and as name=")
                fields["name"], args = args[0], args[1:]
            fields["content"] = args[0] if len(args) == 1 else args
        super().__init__(**fields)

    __init__.__pydantic_base_init__ = True  # type: ignore[attr-defined]

    @model_validator(mode="wrap")
    @classmethod
    def _parse(cls, data: Any, handler: ModelWrapValidatorHandler[Self]) -> Self:
        if isinstance(data, Mapping):
            if cls is Msg and (concrete := _class_of_role(data.get("role"))) is not None:
                return concrete.model_validate(data)  # type: ignore[return-value]
            data = dict(data)
            data["content"] = _as_blocks(data.get("content"))
        message = handler(data)
        if not message.name:
            object.__setattr__(message, "name", message.role.value)
        message._check_content()
        return message

    def _check_content(self) -> None:
        if self._allowed is None:
            return
        classes, names = self._allowed
        for block in self.content:
            if not isinstance(block, classes):
                raise ValueError(
                    f"{self.role.name} message may only contain {names} blocks, got {type(block).__name__}"
                )

    def get_text_content(self) -> str:
        r"""Return the text of all text blocks joined with `\n`, "" when there is none."""
        return "\n".join(block.text for block in self.content if isinstance(block, TextBlock))

    def get_content_blocks(self, cls: type[B]) -> list[B]:
        """Return the blocks of class `cls`, in order."""
        return [block for block in self.content if isinstance(block, cls)]

    def get_first_content_block(self, cls: type[B]) -> B | None:
        """Return the first block of class `cls`, None when there is none."""
        return next((block for block in self.content if isinstance(block, cls)), None)

    def has_content_blocks(self, cls: type[BaseModel]) -> bool:
        """Tell whether there is a block of class `cls`."""
        return any(isinstance(block, cls) for block in self.content)

    def with_content(self, *content: Any) -> Self:
        """Return the same message with other content: strings and blocks, or one sequence of them.

        Unlike in the constructor no string is a name: `with_content("a", "b")` has two text blocks.
        """
        blocks = _as_blocks(content[0] if len(content) == 1 else content)
        return type(self).model_validate({**self.__dict__, "content": blocks})

    def structured(self, output_type: type[T]) -> T:
        """Return `structured_output` as an instance of a type: a pydantic model, a dataclass or a TypedDict.

        Raises:
            ValueError: the message has no structured output.
            pydantic.ValidationError: the output does not fit the type.
        """
        if self.structured_output is None:
            raise ValueError(
                f"message {self.id} has no structured output; "
                f"ask for one with call(..., output_type={output_type.__name__})"
            )
        return TypeAdapter(output_type).validate_json(to_json(self.structured_output))


# Type checkers give every subclass of a model a constructor of its own, by keywords; so each says what it really takes.


class UserMessage(Msg):
    """What a user says: text, data and the legacy media blocks."""

    role: Literal[MsgRole.USER] = MsgRole.USER
    _allowed: ClassVar = ((TextBlock, DataBlock, ImageBlock, AudioBlock, VideoBlock), "text/data/image/audio/video")

    def __init__(self, *content: Any, **fields: Any) -> None:
        super().__init__(*content, **fields)

    __init__.__pydantic_base_init__ = True  # type: ignore[attr-defined]


class AssistantMessage(Msg):
    """What an agent says: one whole reply, with its thinking, text, tool calls, results and hints."""

    role: Literal[MsgRole.ASSISTANT] = MsgRole.ASSISTANT

    def __init__(self, *content: Any, **fields: Any) -> None:
        super().__init__(*content, **fields)

    __init__.__pydantic_base_init__ = True  # type: ignore[attr-defined]


class SystemMessage(Msg):
    """An instruction: text only."""

    role: Literal[MsgRole.SYSTEM] = MsgRole.SYSTEM
    _allowed: ClassVar = ((TextBlock,), "text")

    def __init__(self, *content: Any, **fields: Any) -> None:
        super().__init__(*content, **fields)

    __init__.__pydantic_base_init__ = True  # type: ignore[attr-defined]


class ToolResultMessage(Msg):
    """Tool results that come from outside the agent."""

    role: Literal[MsgRole.TOOL] = MsgRole.TOOL

    def __init__(self, *content: Any, **fields: Any) -> None:
        super().__init__(*content, **fields)

    __init__.__pydantic_base_init__ = True  # type: ignore[attr-defined]


_ROLE_CLASSES: dict[str, type[Msg]] = {
    "user": UserMessage,
    "assistant": AssistantMessage,
    "system": SystemMessage,
    "tool": ToolResultMessage,
}


def _class_of_role(role: Any) -> type[Msg] | None:
    return _ROLE_CLASSES.get(role) if isinstance(role, str) else None


def _as_blocks(content: Any) -> Any:
    """A string is one text block and a block alone is a sequence of one; anything else is pydantic's to judge."""
    if content is None:
        return ()
    if isinstance(content, str):
        return (TextBlock(content),)
    if isinstance(content, BaseModel | Mapping):
        return (content,)
    if isinstance(content, Iterable):
        return tuple(TextBlock(block) if isinstance(block, str) else block for block in content)
    return content
