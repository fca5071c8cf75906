"""What the result of a call is, as chunks of a tool.

| the result has | the tool says |
|---|---|
| a text | the text, on lines of its own |
| an image or a sound | a block of data |
| an embedded text | its URI and the text |
| embedded bytes | a block of data |
| a link to a resource | its name, URI and description |
| structured content | metadata `structured_content`; its JSON too, when there is nothing else |
| `isError` | the state ERROR |
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from functools import singledispatch

from mcp.types import (
    AudioContent,
    BlobResourceContents,
    CallToolResult,
    EmbeddedResource,
    ImageContent,
    ResourceLink,
    TextContent,
    TextResourceContents,
)

from ..identity import new_id
from ..message import ToolResultState
from ..tools import ToolChunk, ToolData, ToolEnd, ToolText

__all__ = ["chunks_of_result"]

_UNKNOWN_MEDIA = "application/octet-stream"
_NO_REASON = "The tool failed, and did not say why."


def chunks_of_result(result: CallToolResult, hide: Callable[[str], str]) -> Iterator[ToolChunk]:
    """Yield the chunks of a result, by the table above; the last one is a `ToolEnd`.

    Args:
        result: The result.
        hide: Takes secrets out of what a failed call says.
    """
    structured = result.structured_content
    chunks = [_chunk(content) for content in result.content]
    if not chunks and structured is not None:
        chunks = [ToolText(json.dumps(structured, ensure_ascii=False))]
    elif not chunks and result.is_error:
        chunks = [ToolText(_NO_REASON)]
    after_text = False
    for chunk in chunks:
        if isinstance(chunk, ToolText):
            text = hide(chunk.text) if result.is_error else chunk.text
            chunk = ToolText(f"\n{text}" if after_text else text)
        yield chunk
        after_text = isinstance(chunk, ToolText)
    yield ToolEnd(
        ToolResultState.ERROR if result.is_error else ToolResultState.SUCCESS,
        None if structured is None else {"structured_content": structured},
    )


@singledispatch
def _chunk(content: object) -> ToolChunk:
    return ToolText(f"[{type(content).__name__}, which cannot be shown]")


@_chunk.register
def _text(content: TextContent) -> ToolChunk:
    return ToolText(content.text)


@_chunk.register(ImageContent)
@_chunk.register(AudioContent)
def _media(content: ImageContent | AudioContent) -> ToolChunk:
    return ToolData(new_id(), content.mime_type, data=content.data)


@_chunk.register
def _embedded(content: EmbeddedResource) -> ToolChunk:
    return _chunk(content.resource)


@_chunk.register
def _embedded_text(resource: TextResourceContents) -> ToolChunk:
    return ToolText(f"{resource.uri}:\n{resource.text}")


@_chunk.register
def _embedded_bytes(resource: BlobResourceContents) -> ToolChunk:
    return ToolData(new_id(), resource.mime_type or _UNKNOWN_MEDIA, data=resource.blob)


@_chunk.register
def _link(content: ResourceLink) -> ToolChunk:
    named = f"{content.title or content.name}: {content.uri}"
    return ToolText(f"{named} ({content.description})" if content.description else named)
