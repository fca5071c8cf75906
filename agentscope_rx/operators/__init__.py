"""Operators (floor 3): Observable in, Observable out, one in each file, for `.pipe(...)`.

Import them from here, so that RxPY's own keep their usual name in the same file:

    from reactivex import operators as ops
    from agentscope_rx.operators import of_type, to_message
"""

from .accumulate_text import AccumulatedText, accumulate_text
from .coalesce import coalesce
from .decode_sse import decode_sse
from .encode_sse import encode_sse
from .from_source import from_source
from .group_by_block import BlockKey, BlockStream, group_by_block
from .hook import Hook, hook
from .of_reply import of_reply
from .of_type import of_type
from .operator import Operator
from .redact import redact
from .resume_with import PauseAnswer, PauseHandler, PauseQuestion, Resumable, resume_with
from .scan_message import MessageView, scan_message
from .stage import Stage, stage
from .stall_timeout import stall_timeout
from .to_message import to_message
from .verify_events import verify_events

__all__ = [
    "AccumulatedText",
    "BlockKey",
    "BlockStream",
    "Hook",
    "MessageView",
    "Operator",
    "PauseAnswer",
    "PauseHandler",
    "PauseQuestion",
    "Resumable",
    "Stage",
    "accumulate_text",
    "coalesce",
    "decode_sse",
    "encode_sse",
    "from_source",
    "group_by_block",
    "hook",
    "of_reply",
    "of_type",
    "redact",
    "resume_with",
    "scan_message",
    "stage",
    "stall_timeout",
    "to_message",
    "verify_events",
]
