"""The seam between asyncio and Rx (floor 2): sources, sinks, stages, back-pressure, cancellation."""

from .attach import attach
from .blocking import blocked_loops
from .fifo import FifoLock
from .gate import Gate, JointGate
from .iterate import StreamIterator, StreamStatistics
from .loop_local import LoopLocal
from .loops import call_on, wake
from .scheduler import LoopScheduler, loop_for
from .scope import using_async
from .source import from_async_iterable
from .sse import ServerSentEvent, SSEParser
from .stages import StageCut, concat_stages
from .stream import Stream
from .through import through
from .unwind import unwinding

__all__ = [
    "FifoLock",
    "Gate",
    "JointGate",
    "LoopLocal",
    "LoopScheduler",
    "SSEParser",
    "ServerSentEvent",
    "StageCut",
    "Stream",
    "StreamIterator",
    "StreamStatistics",
    "attach",
    "blocked_loops",
    "call_on",
    "concat_stages",
    "from_async_iterable",
    "loop_for",
    "through",
    "unwinding",
    "using_async",
    "wake",
]
