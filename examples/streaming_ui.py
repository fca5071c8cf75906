"""A streaming interface in one operator: write what happens as it happens.

The counterpart of "Example: a streaming interface" in the AgentScope Java documentation:
`agent.streamEvents(new UserMessage(…)).doOnNext(event -> …).blockLast()`.

    python examples/streaming_ui.py [--model provider:name]
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


def on_event(event: AgentEvent) -> None:
    match event:
        case AgentStartEvent():
            print(f"[start reply_id={event.reply_id}]")
        case TextBlockDeltaEvent():
            print(event.delta, end="", flush=True)
        case ToolCallStartEvent():
            print(f"\n[calling {event.tool_call_name} ...]")
        case ToolResultEndEvent():
            print(f"[the tool is done: {event.state}]")
        case AgentEndEvent():
            print("\n[done]")


def main(model: ChatModel | str) -> None:
    agent = ReActAgent("assistant", model, tools=[add])
    agent.stream_events(UserMessage("user", "What is 17 plus 25?")).pipe(ops.do_action(on_event)).run()


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--model", default="local:smollm2")
    main(parser.parse_args().model)
