"""Stop a reply while it is being written, and go on with another question.

The counterpart of AgentScope Java's `InterruptionExample`. The reply ends in order: what was said stays in the history.

    python examples/interruption.py [--model provider:name]
"""

import argparse
import asyncio

from agentscope_rx import AgentEndEvent, ChatModel, ReActAgent, TextBlockDeltaEvent, UserInterruptEvent


async def tell(agent: ReActAgent) -> None:
    async for event in agent.stream_events("Tell me a long story."):
        match event:
            case TextBlockDeltaEvent():
                print(event.delta, end="", flush=True)
                agent.interrupt(message="That is enough.")  # from any thread
            case UserInterruptEvent():
                print(f"\n[interrupted: {event.message}]")
            case AgentEndEvent():
                print(f"[end {event.generate_reason}]")
    message = await agent.call("Thank you.")
    print(message.get_text_content())


def main(model: ChatModel | str) -> None:
    asyncio.run(tell(ReActAgent("assistant", model)))


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--model", default="local:smollm2")
    main(parser.parse_args().model)
