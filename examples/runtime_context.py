"""Hand one call what its tools should know, and keep the conversation of every user in files.

The counterpart of AgentScope Java's `RuntimeContextExample`. A `RuntimeContext` is of one call: it names the session
and the user, and carries whatever the application puts into it, by key or by type. Nothing of it is saved, and the
model is sent none of it; what the session remembers is in the store.

    python examples/runtime_context.py [--model provider:name] [--directory DIRECTORY]
"""

import argparse
import tempfile
from dataclasses import dataclass

from agentscope_rx import ChatModel, JsonFileStateStore, ReActAgent, RuntimeContext


@dataclass
class Tenant:
    """An object of the application."""

    name: str


def open_ticket(subject: str, tenant: Tenant, context: RuntimeContext) -> str:
    """Open a ticket.

    Args:
        subject: What the ticket is about.
    """
    # The tenant and the context are injected: the model does not see these parameters.
    return f"{tenant.name} has a ticket about {subject}, by {context.user_id} ({context.get('request_id')})"


def main(model: ChatModel | str, directory: str) -> None:
    agent = ReActAgent("assistant", model, tools=[open_ticket], state_store=JsonFileStateStore(directory))

    def context(user: str, request_id: str) -> RuntimeContext:
        return RuntimeContext("support", user, request_id=request_id).put(Tenant("Acme"))

    for user, request_id, question in (
        ("alice", "req-1", "Open a ticket about the printer"),
        ("alice", "req-2", "Thank you!"),
        ("bob", "req-3", "Hello!"),
    ):
        print(f"{user}: {question}")
        print(f"assistant: {agent.call(question, context(user, request_id)).run().get_text_content()}")
    for user in ("alice", "bob"):
        state = agent.get_state(RuntimeContext("support", user)).run()
        print(f"[{user} has {len(state.history)} messages]")


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--model", default="local:smollm2")
    parser.add_argument("--directory", default=None, help="where the conversations are; a new one when not given")
    arguments = parser.parse_args()
    main(arguments.model, arguments.directory or tempfile.mkdtemp())
