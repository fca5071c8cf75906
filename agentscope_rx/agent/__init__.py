"""The agent (floor 7): a reply as a pipeline of stages."""

from .inputs import AgentInput
from .react_agent import ReActAgent

__all__ = ["AgentInput", "ReActAgent"]
