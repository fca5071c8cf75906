"""The forms that both foreign dialects use: times, metadata, arguments, links."""

from __future__ import annotations

import mimetypes
from datetime import datetime
from typing import Any

from pydantic_core import PydanticSerializationError, to_json

from ...errors import RemoteProtocolError
from ...message import ToolUseBlock, URLSource, parse_arguments
from ...message.blocks import ToolOutputBlock
from .shapes import Form

__all__ = [
    "ALIASES",
    "EMPTY_IS_NONE",
    "LOWER",
    "MEDIA_ALIASES",
    "MEDIA_TYPE_KEYS",
    "METADATA",
    "MOMENT",
    "NUMBER",
    "REWRITTEN",
    "arguments_of",
    "hint_text",
    "media_type_of",
    "read_moment",
    "settle_arguments",
]

ALIASES = {
    "RUN_STARTED": "AGENT_START",
    "REPLY_START": "AGENT_START",
    "RUN_FINISHED": "AGENT_END",
    "REPLY_END": "AGENT_END",
    "MODEL_CALL_STARTED": "MODEL_CALL_START",
    "MODEL_CALL_ENDED": "MODEL_CALL_END",
    "BINARY_BLOCK_START": "DATA_BLOCK_START",
    "BINARY_BLOCK_DELTA": "DATA_BLOCK_DELTA",
    "BINARY_BLOCK_END": "DATA_BLOCK_END",
    "TOOL_RESULT_BINARY_DELTA": "TOOL_RESULT_DATA_DELTA",
    "THREAD_EXPOSED": "SUBAGENT_EXPOSED",
}
"""Types of events that are read, and what they are called now."""

MEDIA_ALIASES = {"image": "data", "audio": "data", "video": "data"}
"""Types of blocks that are read as data blocks."""

MEDIA_TYPE_KEYS = ("media_type", "mime_type", "mimeType", "mediaType")
"""All that the media type of a source is called."""

REWRITTEN = "rewritten from `input` where the two differ"
"""What becomes of `raw_input`."""


def _same(value: Any, at: str = "") -> Any:
    return value


def read_moment(value: Any) -> Any:
    """Return the time that a string is, in the zone of this machine if it names none."""
    try:
        moment = datetime.fromisoformat(value)
    except (TypeError, ValueError):
        return value
    return moment.astimezone() if moment.tzinfo is None else moment


def _copy(value: Any, at: str = "") -> Any:
    return (dict(value) if isinstance(value, dict) else value) or None


def _known(value: Any) -> Any:
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _lower(value: Any) -> Any:
    return value.lower() if isinstance(value, str) else value


MOMENT = Form(lambda value, at: at, read_moment)
"""The time of an event or a message, which its dialect has written already."""

METADATA = Form(_copy, _copy)
"""An object that other fields are put into; empty is nothing."""

NUMBER = Form(_same, _known)
"""A whole number; anything else under the key is somebody else's."""

EMPTY_IS_NONE = Form(_same, lambda value: value or None)
"""Where the other side must have a value, and its empty value is our None."""

LOWER = Form(_same, _lower)
"""A word that is read in any case."""


def arguments_of(call: ToolUseBlock, at: str = "") -> str | None:
    """Return the arguments of a call as text: what the model wrote if that is still what is meant, None if none."""
    if _parsed(call.raw_input) == call.input or not call.input:
        return call.raw_input or None
    return _as_text(call.input)


def settle_arguments(fields: dict[str, Any]) -> None:
    """Mend `input` and `raw_input`: either may be all there is, and `input` may be an object or text."""
    came = [fields.get(name) for name in ("raw_input", "input")]
    if not all(isinstance(value, str | dict | None) for value in came):
        return
    given = next((value for value in came if isinstance(value, dict)), None)
    raw = next((value for value in came if isinstance(value, str)), None)
    parsed = None if raw is None else _parsed(raw)
    if given is None:
        given = parsed or {}
    elif given and parsed != given:
        try:
            raw = _as_text(given)
        except PydanticSerializationError as error:
            raise RemoteProtocolError(f"the `input` of a call holds what JSON cannot: {type(error).__name__}") from None
    elif not given and parsed:
        raw = "{}"
    fields.update(input=given, raw_input=raw or "")


def _as_text(arguments: dict[str, Any]) -> str:
    return to_json(arguments, inf_nan_mode="null").decode()


def _parsed(raw: str) -> dict[str, Any] | None:
    try:
        return parse_arguments(raw)
    except ValueError:
        return None


def media_type_of(source: URLSource, at: str = "") -> str:
    """Return the media type of a link: what it says, or what its ending says."""
    return source.media_type or mimetypes.guess_type(source.url)[0] or "application/octet-stream"


def hint_text(hint: str | tuple[ToolOutputBlock, ...], at: str = "") -> str:
    r"""Return the text of a hint, that of its blocks joined with `\n`."""
    if isinstance(hint, str):
        return hint
    return "\n".join(block.text for block in hint if block.type == "text")
