"""Ask a person before a tool runs.

The counterpart of AgentScope Java's `PermissionHITLExample`. The reply pauses with REQUIRE_USER_CONFIRM, the person is
asked, and the stream goes on. Headless, nobody is asked and every call is denied.

    python examples/permission_hitl.py [--model provider:name] [--headless]
"""

import argparse
from collections.abc import Callable

from reactivex import operators as ops

from agentscope_rx import (
    AgentEndEvent,
    AgentEvent,
    ChatModel,
    ConfirmResult,
    PermissionContext,
    ReActAgent,
    RequireUserConfirmEvent,
    TextBlockDeltaEvent,
    ToolResultEndEvent,
    ToolUseBlock,
)
from agentscope_rx.operators import resume_with


def delete_file(path: str) -> str:
    """Delete a file.

    Args:
        path: The file.
    """
    return f"{path} is deleted"  # simulated


def ask_on_terminal(call: ToolUseBlock) -> bool:
    return input(f"May {call.name} run with {call.input}? [y/n] ").strip().lower() == "y"


def nobody(call: ToolUseBlock) -> bool:
    return False


def show(event: AgentEvent) -> None:
    match event:
        case TextBlockDeltaEvent():
            print(event.delta, end="", flush=True)
        case ToolResultEndEvent():
            print(f"[tool result state={event.state}]")
        case AgentEndEvent():
            print(f"\n[end {event.generate_reason}]")


def main(model: ChatModel | str, may_run: Callable[[ToolUseBlock], bool] = ask_on_terminal) -> None:
    agent = ReActAgent("assistant", model, tools=[delete_file], permission=PermissionContext())

    def confirm(question: RequireUserConfirmEvent) -> list[ConfirmResult]:
        return [ConfirmResult(confirmed=may_run(call), tool_call=call) for call in question.tool_calls]

    agent.stream_events("Delete notes.txt").pipe(resume_with(agent, confirm), ops.do_action(show)).run()


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--model", default="local:smollm2")
    parser.add_argument("--headless", action="store_true")
    arguments = parser.parse_args()
    main(arguments.model, nobody if arguments.headless else ask_on_terminal)
