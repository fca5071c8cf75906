"""Slots: blocks under construction. A slot takes the events of one block and gives the block when asked.

Pieces wait in lists and are joined on demand, once: after that the joined whole is the first piece.
"""

from __future__ import annotations

import base64
import binascii
from typing import Any, Self

from ..errors import ProtocolError, RemoteProtocolError
from ..message import (
    Base64Source,
    DataBlock,
    HintBlock,
    TextBlock,
    ThinkingBlock,
    ToolResultBlock,
    ToolResultState,
    ToolUseBlock,
    URLSource,
    parse_arguments,
)
from .base import is_progress
from .lifecycle import Part, PartKey, describe, key_of_block
from .types import DataBlockDeltaEvent, ToolResultDataDeltaEvent

__all__ = ["SLOT_OF_PART", "CallSlot", "ResultSlot", "Slot", "fixed_slot", "restore_slot"]


class Slot:
    """A block that is whole already, such as a hint; the other slots build theirs."""

    __slots__ = ("_block", "key")

    def __init__(self, key: PartKey | None, block: Any = None) -> None:
        self.key = key
        """The lifecycle that fills the slot, None when nothing does."""
        self._block: Any = block

    @classmethod
    def restored(cls, key: PartKey, block: Any) -> Self:
        """Return the slot that gave `block`, as it is when nothing more comes."""
        slot = cls.__new__(cls)
        Slot.__init__(slot, key, block)
        return slot

    def add(self, event: Any) -> None:
        """Take a delta."""
        raise NotImplementedError

    def close(self, event: Any) -> None:
        """Take the end."""
        raise NotImplementedError

    def reopen(self) -> None:
        """Make a slot that was restored from its block ready for more."""
        raise NotImplementedError

    def block(self) -> Any:
        """Return the block as it stands."""
        if self._block is None:
            self._block = self._build()
        return self._block

    def _build(self) -> Any:
        raise NotImplementedError


class _Pieces:
    """Text that grows by pieces."""

    __slots__ = ("_pieces", "append")

    def __init__(self, text: str = "") -> None:
        self._pieces = [text] if text else []
        self.append = self._pieces.append
        """Takes the next piece."""

    def join(self) -> str:
        if len(self._pieces) > 1:
            self._pieces[:] = ["".join(self._pieces)]
        return self._pieces[0] if self._pieces else ""


class _Bytes:
    """Binary content that grows by pieces, each padded base64 on its own, or that is a link."""

    __slots__ = ("_media_type", "_pieces", "_url")

    def __init__(self, media_type: str | None, source: Base64Source | URLSource | None = None) -> None:
        self._media_type = media_type
        self._url = source.url if isinstance(source, URLSource) else None
        self._pieces = [base64.b64decode(source.data)] if isinstance(source, Base64Source) and source.data else []

    def append(self, event: DataBlockDeltaEvent | ToolResultDataDeltaEvent) -> None:
        if self._url is not None or (event.url is not None and self._pieces):
            raise ProtocolError(f"a data block is bytes or one link, not both: got {describe(event)}")
        if event.url is not None:
            self._url = event.url
            return
        data = event.data
        assert data is not None, "an event has exactly one of data and url"
        try:
            if piece := base64.b64decode(data, validate=True):
                self._pieces.append(piece)
        except (binascii.Error, ValueError):
            raise RemoteProtocolError(
                f"each piece of data must be padded base64 on its own: got {len(data)} characters that are not, "
                f"in {describe(event)}"
            ) from None

    def source(self) -> Base64Source | URLSource:
        if self._url is not None:
            return URLSource(url=self._url, media_type=self._media_type)
        if len(self._pieces) > 1:
            self._pieces = [b"".join(self._pieces)]
        data = base64.b64encode(self._pieces[0]).decode() if self._pieces else ""
        return Base64Source(media_type=self._media_type or "application/octet-stream", data=data)


class TextSlot(Slot):
    """A text block."""

    __slots__ = ("_pieces",)

    def __init__(self, event: Any) -> None:
        super().__init__(PartKey(Part.TEXT, event.block_id))
        self._pieces = _Pieces()

    def add(self, event: Any) -> None:
        """Take more text."""
        self._pieces.append(event.delta)
        self._block = None

    def close(self, event: Any) -> None:
        """Take what else is said about the text."""
        if event.metadata is not None:
            self._block = self._build().model_copy(update={"metadata": event.metadata})

    def reopen(self) -> None:
        """Go on after the text so far."""
        self._pieces = _Pieces(self._block.text)

    def _build(self) -> TextBlock:
        assert self.key is not None
        return TextBlock(self._pieces.join(), id=self.key.id)


class ThinkingSlot(Slot):
    """A thinking block; its signature comes at the end."""

    __slots__ = ("_pieces",)

    def __init__(self, event: Any) -> None:
        super().__init__(PartKey(Part.THINKING, event.block_id))
        self._pieces = _Pieces()

    def add(self, event: Any) -> None:
        """Take more thinking."""
        self._pieces.append(event.delta)
        self._block = None

    def close(self, event: Any) -> None:
        """Take the signature, and what else is said about the thinking."""
        ending = {"signature": event.signature, "redacted_data": event.redacted_data, "metadata": event.metadata}
        self._block = self._build().model_copy(update=ending)

    def reopen(self) -> None:
        """Go on after the thinking so far."""
        self._pieces = _Pieces(self._block.thinking)

    def _build(self) -> ThinkingBlock:
        assert self.key is not None
        return ThinkingBlock(self._pieces.join(), id=self.key.id)


class DataSlot(Slot):
    """A data block."""

    __slots__ = ("_bytes",)

    def __init__(self, event: Any) -> None:
        super().__init__(PartKey(Part.DATA, event.block_id))
        self._bytes = _Bytes(event.media_type)

    def add(self, event: Any) -> None:
        """Take more bytes, or the link."""
        self._bytes.append(event)
        self._block = None

    def close(self, event: Any) -> None:
        """Take what else is said about the content."""
        if event.metadata is not None:
            self._block = self._build().model_copy(update={"metadata": event.metadata})

    def reopen(self) -> None:
        """Go on after the bytes so far."""
        self._bytes = _Bytes(self._block.source.media_type, self._block.source)

    def _build(self) -> DataBlock:
        assert self.key is not None
        return DataBlock(self._bytes.source(), id=self.key.id)


class CallSlot(Slot):
    """A tool call; its arguments are parsed once, at the end."""

    __slots__ = ("_name", "_pieces")

    def __init__(self, event: Any) -> None:
        super().__init__(PartKey(Part.TOOL_CALL, event.tool_call_id))
        self._name = event.tool_call_name
        self._pieces = _Pieces()

    def add(self, event: Any) -> None:
        """Take more of the arguments."""
        self._pieces.append(event.delta)
        self._block = None

    def close(self, event: Any) -> None:
        """Parse the arguments and take what is said at the end; what cannot be parsed stays in `raw_input` alone."""
        block = self._build()
        try:
            arguments = parse_arguments(block.raw_input)
        except ValueError:
            arguments = {}
        ending = {"input": arguments, "signature": event.signature, "metadata": event.metadata}
        self._block = block.model_copy(update=ending)

    def change(self, **changes: Any) -> None:
        """Put other values into the call."""
        self._block = self.block().model_copy(update=changes)

    def reopen(self) -> None:
        """Go on after the arguments so far."""
        self._name, self._pieces = self._block.name, _Pieces(self._block.raw_input)

    def _build(self) -> ToolUseBlock:
        assert self.key is not None
        return ToolUseBlock(id=self.key.id, name=self._name, raw_input=self._pieces.join())


class ResultSlot(Slot):
    """A tool result: runs of text and data blocks, in the order in which they began."""

    __slots__ = ("_data", "_name", "_output")

    def __init__(self, event: Any) -> None:
        super().__init__(PartKey(Part.TOOL_RESULT, event.tool_call_id))
        self._name = event.tool_call_name
        self._output: list[_Pieces | tuple[str, _Bytes]] = []
        self._data: dict[str, _Bytes] = {}

    def add(self, event: Any) -> None:
        """Take more output; progress is for people and is left out."""
        if is_progress(event):
            return
        if isinstance(event, ToolResultDataDeltaEvent):
            self._add_data(event)
        elif self._output and isinstance(last := self._output[-1], _Pieces):
            last.append(event.delta)
        else:
            self._output.append(_Pieces(event.delta))
        self._block = None

    def _add_data(self, event: ToolResultDataDeltaEvent) -> None:
        known = self._data.get(event.block_id)
        data = known or _Bytes(event.media_type)
        data.append(event)
        if known is None:
            self._data[event.block_id] = data
            self._output.append((event.block_id, data))

    def close(self, event: Any) -> None:
        """Take how the call ended."""
        self._block = self._build().model_copy(update={"state": event.state, "metadata": event.metadata})

    def reopen(self) -> None:
        """Go on after the output so far."""
        self._name, self._output, self._data = self._block.name, [], {}
        for block in self._block.output:
            if isinstance(block, TextBlock):
                self._output.append(_Pieces(block.text))
            else:
                self._data[block.id] = _Bytes(block.source.media_type, block.source)
                self._output.append((block.id, self._data[block.id]))

    def _build(self) -> ToolResultBlock:
        assert self.key is not None
        output = tuple(
            TextBlock(item.join()) if isinstance(item, _Pieces) else DataBlock(item[1].source(), id=item[0])
            for item in self._output
        )
        return ToolResultBlock(id=self.key.id, name=self._name, output=output, state=ToolResultState.RUNNING)


SLOT_OF_PART: dict[Part, type[TextSlot | ThinkingSlot | DataSlot | CallSlot | ResultSlot]] = {
    Part.TEXT: TextSlot,
    Part.THINKING: ThinkingSlot,
    Part.DATA: DataSlot,
    Part.TOOL_CALL: CallSlot,
    Part.TOOL_RESULT: ResultSlot,
}
"""Which slot a START event opens."""


def fixed_slot(block: HintBlock) -> Slot:
    """Return the slot of a block that comes whole and that no later event touches."""
    return Slot(None, block)


def restore_slot(block: Any) -> Slot:
    """Return the slot of a block that was built before."""
    key = key_of_block(block)
    return fixed_slot(block) if key is None else SLOT_OF_PART[key.part].restored(key, block)
