"""The packages that the pipeline is measured beside, each in a virtual environment of its own.

The scripts of this folder run in those environments, and know nothing of this package.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

__all__ = ["OURS", "PEERS", "VENVS", "Stream"]

HERE = Path(__file__).parent
VENVS = HERE / "venvs"


@dataclass(frozen=True, slots=True)
class Stream:
    """One way to stream a reply with one package."""

    name: str
    """What the tables call it."""
    script: str
    """The script that times it."""
    mode: str = ""
    """Which of the package's streams, when it has several."""
    venv: str = ""
    """Its virtual environment; "" for the one that runs the benchmarks."""
    requirement: str = ""
    """What pip installs there."""

    @property
    def python(self) -> Path | None:
        """The interpreter of its virtual environment; None for the one that runs the benchmarks."""
        if not self.venv:
            return None
        return VENVS / self.venv / ("Scripts/python.exe" if os.name == "nt" else "bin/python")

    @property
    def installed(self) -> bool:
        """Whether its virtual environment is there."""
        return self.python is None or self.python.exists()

    def command(self, deltas: int) -> list[str | Path]:
        """The command that streams a reply of so many deltas and says what it took."""
        interpreter = [] if self.python is None else [self.python]
        return [*interpreter, HERE / self.script, str(deltas), *([self.mode] if self.mode else [])]


OURS = Stream("agentscope_rx", "agentscope_rx_stream.py")

PEERS = (
    Stream("openai-agents", "openai_agents_stream.py", venv="openai-agents", requirement="openai-agents"),
    Stream("agentscope", "agentscope_stream.py", venv="agentscope", requirement="agentscope"),
    Stream("langgraph astream", "langgraph_stream.py", "astream", venv="langgraph", requirement="langgraph"),
    Stream("langgraph astream_events", "langgraph_stream.py", "astream_events", "langgraph", "langgraph"),
    Stream("pydantic-ai", "pydantic_ai_stream.py", venv="pydantic-ai", requirement="pydantic-ai-slim"),
)
