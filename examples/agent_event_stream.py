"""Every event of a reply that uses tools.

The counterpart of AgentScope Java's `AgentEventStreamExample`. Without tools a reply is

    AGENT_START
      MODEL_CALL_START
        TEXT_BLOCK_START
          TEXT_BLOCK_DELTA        one for each piece of text
        TEXT_BLOCK_END
      MODEL_CALL_END              what it cost
    AGENT_RESULT                  the message that the events fold to
    AGENT_END

and each tool call adds

      TOOL_CALL_START             inside the model call: the tool and the id of the call
        TOOL_CALL_DELTA           the arguments, as JSON, in pieces
      TOOL_CALL_END
      TOOL_RESULT_START           after the model call
        TOOL_RESULT_TEXT_DELTA    or TOOL_RESULT_DATA_DELTA
      TOOL_RESULT_END             how it ended

    python examples/agent_event_stream.py [--model provider:name]
"""

import argparse

from reactivex import operators as ops

from agentscope_rx import (
    AgentEndEvent,
    AgentEvent,
    AgentStartEvent,
    ChatModel,
    ModelCallEndEvent,
    ModelCallStartEvent,
    ReActAgent,
    TextBlockDeltaEvent,
    ToolCallEndEvent,
    ToolCallStartEvent,
    ToolResultEndEvent,
    UserMessage,
)

WEATHER = {"beijing": "28°C, partly cloudy", "shanghai": "32°C, humid and sunny"}


def get_weather(city: str) -> str:
    """Get the current weather for a city.

    Args:
        city: The name of the city.
    """
    return f"{city}: {WEATHER.get(city.lower(), '25°C, clear skies')}"


def handle_event(event: AgentEvent) -> None:
    # `match` gives each branch its own class of event, so its fields are known to type checkers; with
    # `case _: assert_never(event)` at the end they also find the class that was forgotten.
    match event:
        case AgentStartEvent():
            print(f"[AGENT_START]        agent={event.name}  reply_id={event.reply_id}")
        case ModelCallStartEvent():
            print(f"[MODEL_CALL_START]   model={event.model_name}  iteration={event.iteration}")
        case TextBlockDeltaEvent():
            print(event.delta, end="", flush=True)
        case ModelCallEndEvent():
            print(f"\n[MODEL_CALL_END]     input_tokens={event.input_tokens}  output_tokens={event.output_tokens}")
        case ToolCallStartEvent():
            print(f"[TOOL_CALL_START]    tool={event.tool_call_name}  call_id={event.tool_call_id}")
        case ToolCallEndEvent():
            print(f"[TOOL_CALL_END]      call_id={event.tool_call_id}")
        case ToolResultEndEvent():
            print(f"[TOOL_RESULT_END]    call_id={event.tool_call_id}  state={event.state}")
        case AgentEndEvent():
            print(f"[AGENT_END]          reply_id={event.reply_id}")
        case _:
            print(f"[{event.type:<24}] (skipped)")


def main(model: ChatModel | str) -> None:
    agent = ReActAgent(
        "WeatherAgent",
        model,
        sys_prompt="You are a helpful assistant. Use tools when appropriate.",
        tools=[get_weather],
    )
    user_msg = UserMessage("user", "What is the weather like in Beijing and Shanghai?")
    print("User: What is the weather like in Beijing and Shanghai?\n")
    agent.stream_events(user_msg).pipe(ops.do_action(handle_event)).run()


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--model", default="local:smollm2")
    main(parser.parse_args().model)
