"""Anything that can be made: random messages and events, each field with whatever fits it.

The strategies are read off the models themselves, so that a new field is tried without a word here.
"""

from __future__ import annotations

import types
from collections.abc import Callable
from datetime import UTC, datetime
from enum import Enum
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from hypothesis import strategies as st
from pydantic import AwareDatetime, BaseModel

from agentscope_rx.event import UnknownEvent
from agentscope_rx.event.codec.native import EVENT_OF_TYPE
from agentscope_rx.message import (
    AssistantMessage,
    AudioBlock,
    DataBlock,
    HintBlock,
    ImageBlock,
    Msg,
    SystemMessage,
    TextBlock,
    ThinkingBlock,
    ToolResultBlock,
    ToolResultMessage,
    ToolUseBlock,
    UserMessage,
    VideoBlock,
)

from .strategies import PIECES

__all__ = ["events", "json_values", "messages", "moments", "texts"]

texts = st.text(max_size=8) | st.sampled_from(PIECES)
"""Text without half surrogate pairs, which no UTF-8 can carry."""

moments = st.datetimes(min_value=datetime(1970, 1, 1), timezones=st.just(UTC))
"""Aware times in UTC."""


def json_values(*, max_leaves: int = 6) -> st.SearchStrategy[Any]:
    """Make anything that JSON can carry."""
    leaves = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | texts
    return st.recursive(
        leaves,
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
        max_leaves=max_leaves,
    )


def messages() -> st.SearchStrategy[Msg]:
    """Make messages of every role with whatever blocks it may hold."""
    said = (TextBlock, DataBlock, ImageBlock, AudioBlock, VideoBlock)
    anything = (*said, ThinkingBlock, ToolUseBlock, ToolResultBlock, HintBlock)
    allowed: dict[type[Msg], tuple[type[BaseModel], ...]] = {
        UserMessage: said,
        SystemMessage: (TextBlock,),
        AssistantMessage: anything,
        ToolResultMessage: anything,
    }
    return st.one_of(
        [
            _models(cls, content=st.lists(st.one_of([_models(block) for block in blocks]), max_size=3))
            for cls, blocks in allowed.items()
        ]
    )


def events(*classes: type[BaseModel]) -> st.SearchStrategy[Any]:
    """Make events of `classes`, or of every class, each field with anything that fits it."""
    chosen = classes or (*EVENT_OF_TYPE.values(), UnknownEvent)
    return st.one_of([_unknown_events() if cls is UnknownEvent else _models(cls) for cls in chosen])


@st.composite
def _unknown_events(draw: Callable[[st.SearchStrategy[Any]], Any]) -> UnknownEvent:
    raw = draw(st.dictionaries(texts, json_values(), max_size=3))
    raw |= {"type": draw(texts.filter(lambda name: name not in EVENT_OF_TYPE)), "id": draw(texts)}
    raw["created_at"] = draw(moments).isoformat()
    for envelope in ("source", "metadata", "seq"):
        raw.pop(envelope, None)
    fields = {**raw, "seq": draw(st.none() | st.integers(0))}
    return UnknownEvent(raw=raw, **{name: fields[name] for name in ("type", "id", "created_at", "seq")})


def _models(cls: type[BaseModel], **fixed: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    required: dict[str, Any] = {}
    optional: dict[str, Any] = {}
    for name, field in cls.model_fields.items():
        if get_origin(field.annotation) is Literal:
            continue
        strategy = fixed[name] if name in fixed else _fitting(field.annotation)
        (required if field.is_required() else optional)[name] = strategy
    if {"data", "url"} <= optional.keys():
        one = st.one_of(*(st.fixed_dictionaries({name: _fitting(str)}) for name in ("data", "url")))
        del optional["data"], optional["url"]
        return st.builds(lambda chosen, fields: cls(**fields, **chosen), one, _fields(required, optional))
    return _fields(required, optional).map(lambda fields: cls(**fields))


def _fields(required: dict[str, Any], optional: dict[str, Any]) -> st.SearchStrategy[dict[str, Any]]:
    return st.fixed_dictionaries(required, optional=optional)


def _fitting(annotation: Any) -> st.SearchStrategy[Any]:
    """Values that fit a field."""
    origin, args = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        return _fitting(args[0])
    if origin in (Union, types.UnionType):
        return st.one_of([_fitting(arg) for arg in args])
    if origin is tuple:
        return st.lists(_fitting(args[0]), max_size=3).map(tuple)
    if origin is dict:
        return st.dictionaries(texts, json_values(), max_size=3)
    if annotation is Msg:
        return messages()
    if isinstance(annotation, type) and issubclass(annotation, Enum):
        return st.sampled_from(annotation)
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return st.deferred(lambda: _models(annotation))
    return _SIMPLE[annotation]


_SIMPLE: dict[Any, st.SearchStrategy[Any]] = {
    str: texts,
    int: st.integers(),
    bool: st.booleans(),
    float: st.floats(allow_nan=False, allow_infinity=False),
    type(None): st.none(),
    AwareDatetime: moments,
}
