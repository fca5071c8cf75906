"""The seam between asyncio and Rx (floor 2): sources, sinks, stages, back-pressure, cancellation."""

from .fifo import FifoLock
from .gate import Gate
from .iterate import StreamIterator, StreamStatistics
from .loop_local import LoopLocal
from .scheduler import LoopScheduler
from .scope import using_async
from .source import from_async_iterable
from .stages import concat_stages
from .stream import Stream
from .through import through
from .unwind import unwinding

__all__ = [
    "FifoLock",
    "Gate",
    "LoopLocal",
    "LoopScheduler",
    "Stream",
    "StreamIterator",
    "StreamStatistics",
    "concat_stages",
    "from_async_iterable",
    "through",
    "unwinding",
    "using_async",
]
