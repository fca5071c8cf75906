"""The console (floor 9): `agentscope-rx chat`, or `python -m agentscope_rx.cli chat`."""

from .command import main

__all__ = ["main"]
