"""Asking a person about tool calls, on the terminal."""

from __future__ import annotations

import json
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from ..context import RuntimeContext
from ..event import ConfirmResult, RequireUserConfirmEvent, UserInterruptEvent
from ..message import ToolUseBlock
from ..tools.run import refusal
from .controls import visible
from .tools import TOOLS

__all__ = ["ask"]

_CHOICES = "[y]es, [n]o, [e]dit, [a]lways? "


def ask(question: RequireUserConfirmEvent) -> list[ConfirmResult] | UserInterruptEvent:
    """Ask about each call; Ctrl-C and Ctrl-D stop the reply. Where nobody can be asked, the answer is no."""
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        nobody = "There is no terminal to ask the user on."
        return [ConfirmResult(confirmed=False, tool_call=call, reason=nobody) for call in question.tool_calls]
    try:
        with _ctrl_c_at_once():
            return [_answer(call) for call in question.tool_calls]
    except (KeyboardInterrupt, EOFError):
        print()
        return UserInterruptEvent(reply_id=question.reply_id, seq=0)


def _answer(call: ToolUseBlock) -> ConfirmResult:
    print(visible(f"May {call.name} run with {json.dumps(call.input, ensure_ascii=False)}?"))
    for rule in call.suggested_rules:
        print(visible(f"  always: {rule.behavior.value} {rule.tool_name}({rule.rule_content or ''})"))
    while True:
        match input(_CHOICES).strip().lower():
            case "y" | "yes":
                return ConfirmResult(confirmed=True, tool_call=call)
            case "n" | "no":
                return ConfirmResult(confirmed=False, tool_call=call, reason=input("Why not? ").strip() or None)
            case "a" | "always":
                return ConfirmResult(confirmed=True, tool_call=call, rules=call.suggested_rules)
            case "e" | "edit":
                if (edited := _edited(call)) is not None:
                    return ConfirmResult(confirmed=True, tool_call=edited)


def _edited(call: ToolUseBlock) -> ToolUseBlock | None:
    raw = input("Arguments, as JSON: ")
    try:
        arguments = json.loads(raw)
    except ValueError as error:
        print(f"That is no JSON: {error}")
        return None
    if not isinstance(arguments, dict):
        print("Arguments are a JSON object.")
        return None
    edited = call.model_copy(update={"input": arguments, "raw_input": raw})
    tool = next((tool for tool in TOOLS if tool.name == call.name), None)
    if tool is not None and (why := refusal(edited, tool, RuntimeContext())) is not None:
        print(visible(why))
        return None
    return edited


@contextmanager
def _ctrl_c_at_once() -> Iterator[None]:
    """Let Ctrl-C end an `input`; the event loop around it would only note it, and wait for the line."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
