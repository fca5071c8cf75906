"""What an agent builds when it is made."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]

FRESH = """
from agentscope_rx import ReActAgent
from agentscope_rx.message.frozen import LazyModel
from agentscope_rx.testing import ScriptedModel, text

def complete():
    found, classes = set(), [LazyModel]
    while classes:
        classes += (cls := classes.pop()).__subclasses__()
        found |= {cls.__name__} if cls.__pydantic_complete__ else set()
    return found

agent = ReActAgent("assistant", ScriptedModel([[text("Hello")]]), sys_prompt="Be brief.")
ready = complete()
agent.call("hi").run()
print(len(ready) > 10, complete() - ready)
"""


def test_the_first_reply_finds_its_schemas_built() -> None:
    done = subprocess.run(
        [sys.executable, "-c", FRESH], cwd=ROOT, capture_output=True, text=True, timeout=60, check=True
    )
    assert done.stdout.strip() == "True set()"
