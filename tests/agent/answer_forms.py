"""The forms in which answers to a pause may come: all say the same."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, TypeAlias

from agentscope_rx import (
    ConfirmResult,
    ExternalExecutionResultEvent,
    ToolResultBlock,
    ToolResultMessage,
    UserConfirmResultEvent,
    UserMessage,
    decode,
    decode_message,
    encode,
    encode_message,
)

__all__ = ["FORMS", "Said"]

Said: TypeAlias = tuple[list[ConfirmResult], list[ToolResultBlock]]
"""What people said, and what came from outside."""


def events_of(said: Said) -> Iterator[Any]:
    confirms, results = said
    if confirms:
        yield UserConfirmResultEvent(reply_id="", confirm_results=tuple(confirms))
    if results:
        yield ExternalExecutionResultEvent(reply_id="", tool_results=tuple(results))


def as_json_event(dialect: Any) -> Callable[[Said], Any]:
    return lambda said: [decode(encode(event, dialect), dialect) for event in events_of(said)]


def messages_of(said: Said, confirms: Callable[[ConfirmResult], Any]) -> Iterator[Any]:
    if said[0]:
        yield UserMessage(content="ok", metadata={"agentscope_confirm_results": [confirms(each) for each in said[0]]})
    if said[1]:
        yield ToolResultMessage(*said[1])


def as_objects(said: Said) -> Any:
    return list(messages_of(said, lambda confirm: confirm))


def as_json_message(dialect: Any) -> Callable[[Said], Any]:
    def form(said: Said) -> Any:
        return [
            decode_message(encode_message(message, dialect), dialect)
            for message in messages_of(said, _WRITTEN[dialect])
        ]

    return form


def java(confirm: ConfirmResult) -> dict[str, Any]:
    call = confirm.tool_call
    tool_use = {"type": "tool_use", "id": call.id, "name": call.name, "input": call.input, "content": call.raw_input,
                "metadata": {}, "state": "asking"}  # fmt: skip
    return {"confirmed": confirm.confirmed, "toolCall": tool_use, "rules": _rules(confirm) or None}


def python(confirm: ConfirmResult) -> dict[str, Any]:
    call = confirm.tool_call
    written = {"type": "tool_call", "id": call.id, "name": call.name, "input": call.raw_input, "state": "asking"}
    return {"confirmed": confirm.confirmed, "tool_call": written, "rules": _rules(confirm)}


def _rules(confirm: ConfirmResult) -> list[Any]:
    return [rule.model_dump(mode="json") for rule in confirm.rules]


_WRITTEN: dict[str, Callable[[ConfirmResult], Any]] = {
    "native": lambda confirm: confirm.model_dump(mode="json"),
    "java": java,
    "python": python,
}

FORMS: dict[str, Callable[[Said], Any]] = {
    "events": lambda said: list(events_of(said)),
    "events in JSON": as_json_event("native"),
    "events in Java's JSON": as_json_event("java"),
    "events in Python's JSON": as_json_event("python"),
    "messages": as_objects,
    "messages in JSON": as_json_message("native"),
    "messages in Java's JSON": as_json_message("java"),
    "messages in Python's JSON": as_json_message("python"),
}
