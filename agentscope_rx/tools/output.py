"""What a tool gives, as chunks.

| the tool gives | the result has |
|---|---|
| `None`, `""` | nothing |
| a string | the string |
| `TextBlock`, `DataBlock`, a legacy media block | the block; base64 and block id unchanged |
| a list or tuple of strings and blocks, with a block among them | each, in order |
| `ToolResultBlock` | its output; its state and metadata become the call's |
| `Msg` | its text and data blocks |
| a chunk | the chunk, if it is one that a tool may say |
| `bytes` | a `TypeError`: bytes need a media type, which a `DataBlock` has |
| anything else | its JSON text, a string where its JSON is a string (dates, enums, paths); what has no JSON: `str()` |
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import singledispatch
from typing import Any

from ..message import AudioBlock, DataBlock, ImageBlock, Msg, TextBlock, ToolResultBlock, URLSource, VideoBlock
from .chunk import ToolChunk, ToolData, ToolEnd, ToolStart, ToolStop, ToolSuspended, ToolText
from .sendable import jsonable

__all__ = ["chunks_of"]

_UNKNOWN_MEDIA = "application/octet-stream"
_BLOCKS = (TextBlock, DataBlock, ImageBlock, AudioBlock, VideoBlock)


@singledispatch
def chunks_of(output: Any) -> Iterator[ToolChunk]:
    """Turn one output into chunks, by the table above.

    Raises:
        TypeError: the output is bytes.
        ValueError: the output refers to itself.
    """
    value = jsonable(output)
    yield from chunks_of(value if isinstance(value, str) else json.dumps(value, ensure_ascii=False))


@chunks_of.register
def _nothing(output: None) -> Iterator[ToolChunk]:
    return iter(())


@chunks_of.register
def _text(output: str) -> Iterator[ToolChunk]:
    if output:
        yield ToolText(output)


@chunks_of.register(bytes)
@chunks_of.register(bytearray)
@chunks_of.register(memoryview)
def _bytes(output: object) -> Iterator[ToolChunk]:
    raise TypeError(
        f"the tool gave {type(output).__name__}, which says nothing about its media type; "
        f"expected text, or a DataBlock with a media type"
    )


@chunks_of.register(ToolStart)
@chunks_of.register(ToolSuspended)
@chunks_of.register(ToolText)
@chunks_of.register(ToolData)
@chunks_of.register(ToolStop)
@chunks_of.register(ToolEnd)
def _chunk(output: ToolChunk) -> Iterator[ToolChunk]:
    yield output


@chunks_of.register
def _text_block(output: TextBlock) -> Iterator[ToolChunk]:
    yield from _text(output.text)


@chunks_of.register
def _data_block(output: DataBlock) -> Iterator[ToolChunk]:
    source = output.source
    if isinstance(source, URLSource):
        yield ToolData(output.id, source.media_type or _UNKNOWN_MEDIA, url=source.url)
    else:
        yield ToolData(output.id, source.media_type, data=source.data)


@chunks_of.register(ImageBlock)
@chunks_of.register(AudioBlock)
@chunks_of.register(VideoBlock)
def _legacy_media(output: ImageBlock | AudioBlock | VideoBlock) -> Iterator[ToolChunk]:
    yield from _data_block(output.to_data_block())


@chunks_of.register
def _result(output: ToolResultBlock) -> Iterator[ToolChunk]:
    for block in output.output:
        yield from chunks_of(block)
    yield ToolEnd(output.state, output.metadata)


@chunks_of.register
def _message(output: Msg) -> Iterator[ToolChunk]:
    for block in output.content:
        if isinstance(block, _BLOCKS):
            yield from chunks_of(block)


@chunks_of.register(list)
@chunks_of.register(tuple)
def _sequence(output: list[Any] | tuple[Any, ...]) -> Iterator[ToolChunk]:
    blocks = [isinstance(item, _BLOCKS) for item in output]
    if any(blocks) and all(block or isinstance(item, str) for block, item in zip(blocks, output, strict=True)):
        for item in output:
            yield from chunks_of(item)
    else:
        yield from chunks_of.dispatch(object)(output)
