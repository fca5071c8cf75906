"""Stop an agent after it has reasoned, look at what it wants to do, and let it go on.

The counterpart of AgentScope Java's `HookStopAgentExample`: the operator asks for a stop behind every round that calls
a tool, and `stream_events(None)` runs the calls that were left pending.

    python examples/hook_stop_agent.py [--model provider:name]
"""

import argparse
from collections.abc import Iterable

from agentscope_rx import AgentEvent, ChatModel, ReActAgent, RequestStopEvent, ToolCallEndEvent, ToolUseBlock
from agentscope_rx.operators import Stage, hook, stage, to_message


def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


class StopBeforeTools(Stage[AgentEvent, AgentEvent]):
    """Asks for a stop after a round that calls tools."""

    def __init__(self) -> None:
        self._calls = False

    def on_next(self, event: AgentEvent) -> Iterable[AgentEvent]:
        self._calls = self._calls or isinstance(event, ToolCallEndEvent)
        yield event

    def on_completed(self) -> Iterable[AgentEvent]:
        if self._calls:
            yield RequestStopEvent(reason="tools are to be looked at first")


def main(model: ChatModel | str) -> None:
    agent = ReActAgent("assistant", model, tools=[add], middlewares=[hook(on_reasoning=stage(StopBeforeTools))])
    message = agent.stream_events("What is 17 plus 25?").pipe(to_message()).run()
    for call in message.get_content_blocks(ToolUseBlock):
        print(f"[wants {call.name} {call.input}]")
    message = agent.stream_events(None).pipe(to_message()).run()
    print(message.get_text_content())


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--model", default="local:smollm2")
    main(parser.parse_args().model)
