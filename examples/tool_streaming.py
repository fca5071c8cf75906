"""Tools that speak while they work.

The counterpart of AgentScope Java's `ToolStreamingExample`. A tool speaks in two ways:

* what it gives to a `ToolEmitter` is progress, for people: it is no part of the result, and the model is not sent it;
* what it returns, or yields piece by piece, is the result.

Both come as TOOL_RESULT_TEXT_DELTA or TOOL_RESULT_DATA_DELTA, between TOOL_RESULT_START and TOOL_RESULT_END. (In
Java a tool has progress only, and its return value is no event.)

    python examples/tool_streaming.py [--model provider:name]
"""

import argparse
import time
from collections.abc import Iterator

from reactivex import operators as ops

from agentscope_rx import (
    AgentEvent,
    ChatModel,
    ReActAgent,
    ToolEmitter,
    ToolResultDataDeltaEvent,
    ToolResultEndEvent,
    ToolResultStartEvent,
    ToolResultTextDeltaEvent,
    UserMessage,
)


class ResearchTools:
    """Simulated: real ones would search."""

    def __init__(self, pause: float) -> None:
        self._pause = pause

    def research_topic(self, topic: str, emitter: ToolEmitter) -> str:
        """Research a topic and return a summary.

        Args:
            topic: The topic to research.
        """
        # The emitter is injected: the model does not see the parameter.
        emitter.emit(f"Searching for: {topic}")
        time.sleep(self._pause)
        emitter.emit("Found 12 sources. Reading them ...")
        time.sleep(self._pause)
        emitter.emit("Comparing what they say ...")
        time.sleep(self._pause)
        # Only this is sent to the model.
        return f"Summary of {topic}: error rates are falling, qubit counts are rising."

    def list_sources(self, topic: str) -> Iterator[str]:
        """List the sources about a topic.

        Args:
            topic: The topic of the sources.
        """
        for number in (1, 2, 3):
            time.sleep(self._pause)
            yield f"{number}. {topic}, volume {number}\n"


def handle_event(event: AgentEvent) -> None:
    match event:
        case ToolResultStartEvent():
            print(f"\n[Tool started]  {event.tool_call_name} (id={event.tool_call_id})")
        case ToolResultTextDeltaEvent(metadata={"progress": True}):
            print(f"  … {event.delta}")
        case ToolResultTextDeltaEvent():
            print(f"  ▸ {event.delta.rstrip()}")
        case ToolResultDataDeltaEvent():
            print(f"  ▸ [{event.media_type}]")
        case ToolResultEndEvent():
            print(f"[Tool finished] id={event.tool_call_id}  state={event.state}")


def main(model: ChatModel | str, pause: float = 0.5) -> None:
    tools = ResearchTools(pause)
    agent = ReActAgent(
        "ResearchAgent",
        model,
        sys_prompt="You are a research assistant. Use the research_topic tool to investigate topics.",
        tools=[tools.research_topic, tools.list_sources],
    )
    user_msg = UserMessage("user", "Research the current state of quantum computing")
    print("User: Research the current state of quantum computing")
    agent.stream_events(user_msg).pipe(ops.do_action(handle_event)).run()
    print("\nDone.")


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--model", default="local:smollm2")
    main(parser.parse_args().model)
