"""Watch an agent, audit its model calls, and give it a prompt that changes: three middlewares.

The counterparts of AgentScope Java's `CustomizedMiddlewareExample`, `ModelCallMiddlewareExample` and
`SystemPromptMiddlewareExample`. A middleware gets the stage within as `next`: what it returns are the events of that
stage, so that it may look at them, change them, or do without them.

    python examples/middlewares.py [--model provider:name]
"""

import argparse
import time
from collections.abc import Callable
from datetime import UTC, datetime

from reactivex import Observable, operators as ops

from agentscope_rx import (
    ActingInput,
    AgentCallInput,
    AgentEvent,
    ChatModel,
    Middleware,
    ModelCallInput,
    ReActAgent,
    ReasoningInput,
    RuntimeContext,
    ToolEmitter,
    ToolResultTextDeltaEvent,
)
from agentscope_rx.middleware import AgentLike, Next


class Monitoring(Middleware):
    """Tells when the agent starts, reasons and acts, and what its tools say."""

    def on_agent(
        self, agent: AgentLike, context: RuntimeContext, input: AgentCallInput, next: Next[AgentCallInput]
    ) -> Observable[AgentEvent]:
        print(f"[agent] {agent.name} starts with {len(input.messages)} message(s)")
        return next(input).pipe(ops.do_action(on_completed=lambda: print("[agent] done")))

    def on_reasoning(
        self, agent: AgentLike, context: RuntimeContext, input: ReasoningInput, next: Next[ReasoningInput]
    ) -> Observable[AgentEvent]:
        print(f"[reasoning] round {input.iteration}, {len(input.messages)} messages")
        return next(input)

    def on_acting(
        self, agent: AgentLike, context: RuntimeContext, input: ActingInput, next: Next[ActingInput]
    ) -> Observable[AgentEvent]:
        print(f"[acting] {', '.join(call.name for call in input.tool_calls)}")
        return next(input).pipe(ops.do_action(self._show), ops.do_action(on_completed=lambda: print("[acting] done")))

    def _show(self, event: AgentEvent) -> None:
        if isinstance(event, ToolResultTextDeltaEvent):
            print(f"[acting] … {event.delta}")


class Auditing(Middleware):
    """Notes what every model call is sent, how much comes back, and how long that takes."""

    def __init__(self, clock: Callable[[], float] = time.perf_counter) -> None:
        self.calls = 0
        self.events = 0
        self._clock = clock

    def on_model_call(
        self, agent: AgentLike, context: RuntimeContext, input: ModelCallInput, next: Next[ModelCallInput]
    ) -> Observable[AgentEvent]:
        self.calls += 1
        number, began, before = self.calls, self._clock(), self.events
        print(f"[audit {number}] {input.model.model_name}: {len(input.messages)} messages, {len(input.tools)} tools")

        def count(event: AgentEvent) -> None:
            self.events += 1

        def report() -> None:
            print(f"[audit {number}] {self.events - before} events in {self._clock() - began:.1f} s")

        return next(input).pipe(ops.do_action(count, on_completed=report))


class Dated(Middleware):
    """Puts the time into the system prompt, anew for every reply."""

    def __init__(self, now: Callable[[], datetime] = lambda: datetime.now(UTC)) -> None:
        self._now = now

    def on_system_prompt(self, agent: AgentLike, context: RuntimeContext, prompt: str) -> str:
        return f"{prompt}\n\nIt is {self._now():%Y-%m-%d %H:%M} UTC."


class Placed(Middleware):
    """Puts who asks, and where, into the system prompt; it is given what `Dated` has made of it."""

    def on_system_prompt(self, agent: AgentLike, context: RuntimeContext, prompt: str) -> str:
        print(f"[prompt] {context.user_id} in {context.get('environment')}")
        return f"{prompt}\nThe user is {context.user_id}, the environment {context.get('environment')}."


def process_data(dataset: str, emitter: ToolEmitter) -> str:
    """Process a dataset.

    Args:
        dataset: The name of the dataset.
    """
    for percent in (50, 100):
        emitter.emit(f"{percent}% of {dataset}")
    return f"{dataset} has 1000 records"


def main(
    model: ChatModel | str,
    now: Callable[[], datetime] = lambda: datetime.now(UTC),
    clock: Callable[[], float] = time.perf_counter,
) -> None:
    auditing = Auditing(clock)
    agent = ReActAgent(
        "assistant",
        model,
        sys_prompt="You are a helpful assistant.",
        tools=[process_data],
        middlewares=[Monitoring(), auditing, Dated(now), Placed()],
    )
    context = RuntimeContext(user_id="user-42", environment="demo")
    message = agent.call("Process the customers dataset", context).run()
    print(message.get_text_content())
    print(f"[audit] {auditing.calls} model calls, {auditing.events} events")


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--model", default="local:smollm2")
    main(parser.parse_args().model)
