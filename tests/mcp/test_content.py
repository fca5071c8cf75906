"""What results say, as chunks."""

from __future__ import annotations

from typing import Any

import pytest
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

from agentscope_rx.mcp.content import chunks_of_result
from agentscope_rx.message import ToolResultState
from agentscope_rx.tools import ToolData, ToolEnd, ToolText

END = ToolEnd(ToolResultState.SUCCESS)


def chunks(*content: Any, **result: Any) -> list[Any]:
    return list(
        chunks_of_result(CallToolResult(content=list(content), **result), lambda text: text.replace("key", "*"))
    )


def said(*content: Any, **result: Any) -> str:
    return "".join(chunk.text for chunk in chunks(*content, **result) if isinstance(chunk, ToolText))


def test_texts_are_on_lines_of_their_own() -> None:
    assert said(TextContent(text="one"), TextContent(text="two")) == "one\ntwo"


@pytest.mark.parametrize(
    ("content", "media_type", "data"),
    [
        (ImageContent(data="aGk=", mime_type="image/png"), "image/png", "aGk="),
        (AudioContent(data="aGk=", mime_type="audio/wav"), "audio/wav", "aGk="),
        (EmbeddedResource(resource=BlobResourceContents(uri="x:y", blob="aGk=")), "application/octet-stream", "aGk="),
    ],
)
def test_media_are_data(content: Any, media_type: str, data: str) -> None:
    (chunk, end) = chunks(content)
    assert isinstance(chunk, ToolData)
    assert (chunk.media_type, chunk.data, end) == (media_type, data, END)


def test_every_piece_of_data_is_a_block_of_its_own() -> None:
    one, other, _ = chunks(*[ImageContent(data="aGk=", mime_type="image/png")] * 2)
    assert one.block_id != other.block_id


def test_a_text_after_a_picture_has_no_line_before_it() -> None:
    assert said(TextContent(text="a"), ImageContent(data="", mime_type="image/png"), TextContent(text="b")) == "ab"


def test_resources_are_named() -> None:
    embedded = EmbeddedResource(resource=TextResourceContents(uri="file:///a", text="A"))
    assert said(embedded) == "file:///a:\nA"
    assert said(ResourceLink(name="manual", uri="file:///m")) == "manual: file:///m"
    assert said(ResourceLink(name="m", title="Manual", uri="x:y", description="Old")) == "Manual: x:y (Old)"


def test_structured_content_is_metadata_and_text_when_there_is_no_other() -> None:
    structured = {"größe": 3}
    assert chunks(structured_content=structured) == [
        ToolText('{"größe": 3}'),
        ToolEnd(ToolResultState.SUCCESS, {"structured_content": structured}),
    ]
    assert said(TextContent(text="three"), structured_content=structured) == "three"


def test_an_error_is_one_and_holds_no_secret() -> None:
    assert chunks(TextContent(text="bad key"), is_error=True) == [ToolText("bad *"), ToolEnd(ToolResultState.ERROR)]
    assert said(is_error=True) == "The tool failed, and did not say why."
    assert said(TextContent(text="the key is under the mat")) == "the key is under the mat"


def test_nothing_is_nothing() -> None:
    assert chunks() == [END]
