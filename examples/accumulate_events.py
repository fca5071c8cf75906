"""Accumulate the text of a reply while its events go by.

The counterpart of "Rebuild messages from the event stream" in the AgentScope Java documentation:
`agent.streamEvents(userMsg).doOnNext(event -> …).blockLast()` is
`agent.stream_events(user_msg).pipe(ops.do_action(on_event)).run()`.

    python examples/accumulate_events.py [--model provider:name]
"""

import argparse

from reactivex import operators as ops

from agentscope_rx import (
    AgentEndEvent,
    AgentEvent,
    AgentStartEvent,
    ChatModel,
    ReActAgent,
    TextBlockDeltaEvent,
    ToolCallStartEvent,
    ToolResultEndEvent,
    UserMessage,
)


def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


def main(model: ChatModel | str) -> None:
    agent = ReActAgent("assistant", model, tools=[add])
    user_msg = UserMessage("user", "What is 17 plus 25?")
    accumulated: list[str] = []

    def on_event(event: AgentEvent) -> None:
        match event:
            case AgentStartEvent():
                print(f"[start reply_id={event.reply_id}]")
            case TextBlockDeltaEvent():
                accumulated.append(event.delta)
            case ToolCallStartEvent():
                print(f"[tool] {event.tool_call_name}")
            case ToolResultEndEvent():
                print(f"[tool result state={event.state}]")
            case AgentEndEvent():
                print("\n[end] full text:\n" + "".join(accumulated))

    agent.stream_events(user_msg).pipe(ops.do_action(on_event)).run()


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--model", default="local:smollm2")
    main(parser.parse_args().model)
