"""Go on with a conversation after a restart.

The counterpart of AgentScope Java's `StateAutoSaveExample`. Every call loads the state of its session and saves it at
its end, however it ends; there is nothing to be saved by hand. `shutdown` waits for the calls that still run.

    python examples/state_auto_save.py [--model provider:name] [--database FILE]
"""

import argparse
import asyncio
import tempfile
from contextlib import closing
from pathlib import Path

from agentscope_rx import ChatModel, ReActAgent, SqliteStateStore


async def first_process(model: ChatModel | str, database: Path) -> None:
    with closing(SqliteStateStore(database)) as store:
        agent = ReActAgent("assistant", model, state_store=store, default_session_id="alice")
        for fact in ("My favourite colour is blue.", "My lucky number is 7."):
            print(f"User: {fact}")
            print(f"Assistant: {(await agent.call(fact)).get_text_content()}")
        print(f"[{len((await agent.get_state()).history)} messages are saved]")
        await agent.shutdown()


async def second_process(model: ChatModel | str, database: Path) -> None:
    with closing(SqliteStateStore(database)) as store:
        agent = ReActAgent("assistant", model, state_store=store, default_session_id="alice")
        print(f"[{len((await agent.get_state()).history)} messages are there]")
        question = "What is my favourite colour?"
        print(f"User: {question}")
        print(f"Assistant: {(await agent.call(question)).get_text_content()}")
        await agent.shutdown()


def main(model: ChatModel | str, database: Path) -> None:
    asyncio.run(first_process(model, database))
    asyncio.run(second_process(model, database))


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--model", default="local:smollm2")
    parser.add_argument("--database", type=Path, default=None, help="a SQLite file; a new one when not given")
    arguments = parser.parse_args()
    main(arguments.model, arguments.database or Path(tempfile.mkdtemp()) / "sessions.db")
