"""Runs the real AgentScope Python 2; executed by the interpreter that has it, and by nothing else.

agentscope_peer.py run SCENARIO    print the events of an agent whose model is scripted, one JSON object a line, then
                                   the assistant's messages as the agent stores them
agentscope_peer.py parse           read streams from standard input, parse their events with AgentScope's own models,
                                   print each as AgentScope writes it, then the message that `append_event` makes
agentscope_peer.py messages        the same with messages
"""

from __future__ import annotations

import asyncio
import base64
import json
import sys
from collections.abc import AsyncGenerator, Callable, Iterable
from typing import Any

from agentscope.agent import Agent, ReActConfig
from agentscope.credential import CredentialBase
from agentscope.event import (
    AgentEvent,
    ConfirmResult,
    ExternalExecutionResultEvent,
    RequireExternalExecutionEvent,
    RequireUserConfirmEvent,
    UserConfirmResultEvent,
    UserInterruptEvent,
)
from agentscope.formatter import OpenAIChatFormatter
from agentscope.message import (
    AssistantMsg,
    Base64Source,
    DataBlock,
    Msg,
    TextBlock,
    ThinkingBlock,
    ToolCallBlock,
    ToolResultBlock,
    UserMsg,
)
from agentscope.model import ChatModelBase, ChatResponse, ChatUsage
from agentscope.permission import PermissionBehavior, PermissionDecision
from agentscope.tool import FunctionTool, ToolBase, Toolkit
from pydantic import TypeAdapter

Turn = list[list[Any]]


class ScriptedModel(ChatModelBase):
    """Says what it was told to say: a turn for each call, a list of blocks for each chunk."""

    def __init__(self, turns: list[Turn]) -> None:
        super().__init__(CredentialBase(), "scripted", ChatModelBase.Parameters())
        self.formatter = OpenAIChatFormatter()
        self._turns = iter(turns)

    async def _call_api(self, model_name: str, messages: Any, **kwargs: Any) -> Any:
        return self._stream(next(self._turns))

    async def _stream(self, turn: Turn) -> AsyncGenerator[ChatResponse, None]:
        for chunk in turn:
            if isinstance(chunk, Exception):
                raise chunk
            yield ChatResponse(content=chunk, is_last=False)
            await asyncio.sleep(0)
        usage = ChatUsage(input_tokens=7, output_tokens=5, time=0.1)
        yield ChatResponse(content=[], is_last=False, usage=usage)

    async def count_tokens(self, *args: Any, **kwargs: Any) -> int:
        return 0


def text(value: str, id: str = "t") -> TextBlock:
    return TextBlock(text=value, id=id)


def thinking(value: str) -> ThinkingBlock:
    return ThinkingBlock(thinking=value, id="th")


def call(id: str, tool: str, arguments: str = "{}") -> ToolCallBlock:
    return ToolCallBlock(id=id, name=tool, input=arguments)


def sound(data: bytes) -> DataBlock:
    source = Base64Source(data=base64.b64encode(data).decode(), media_type="audio/pcm")
    return DataBlock(id="d", source=source)


# ------------------------------------------------------------------------------------------------ tools

_ALLOWED = PermissionDecision(behavior=PermissionBehavior.ALLOW, message="allowed")
_ASK = PermissionDecision(behavior=PermissionBehavior.ASK, message="ask")


async def fast() -> str:
    """Answer at once."""
    return "fast"


async def slow() -> AsyncGenerator[str, None]:
    """Answer in two pieces, after the other."""
    for piece in ("sl", "ow"):
        await asyncio.sleep(0.02)
        yield piece


async def broken() -> str:
    """Fail."""
    raise ValueError("it broke")


async def risky(q: str = "") -> str:
    """Do what somebody must confirm."""
    return f"did {q}"


class Elsewhere(ToolBase):
    """Is run by somebody else."""

    name = "elsewhere"
    description = "Run it elsewhere."
    input_schema: dict[str, Any] = {"type": "object", "properties": {}}
    is_concurrency_safe = True
    is_read_only = True
    is_external_tool = True

    async def check_permissions(self, tool_input: Any, context: Any) -> PermissionDecision:
        return _ALLOWED


def toolkit() -> Toolkit:
    allowed = [FunctionTool(function, permission=_ALLOWED) for function in (fast, slow, broken)]
    return Toolkit(tools=[*allowed, FunctionTool(risky, permission=_ASK), Elsewhere()])


# ------------------------------------------------------------------------------------------------ scenarios

Answer = Callable[[str, list[Any]], Any]


def confirm(confirmed: bool, **changes: Any) -> Answer:
    def answer(reply_id: str, calls: list[Any]) -> UserConfirmResultEvent:
        results = [ConfirmResult(confirmed=confirmed, tool_call=asked.model_copy(update=changes)) for asked in calls]
        return UserConfirmResultEvent(reply_id=reply_id, confirm_results=results)

    return answer


def execute(output: str) -> Answer:
    def answer(reply_id: str, calls: list[Any]) -> ExternalExecutionResultEvent:
        results = [ToolResultBlock(id=asked.id, name=asked.name, output=output, state="success") for asked in calls]
        return ExternalExecutionResultEvent(reply_id=reply_id, execution_results=results)

    return answer


def interrupt(reply_id: str, calls: list[Any]) -> UserInterruptEvent:
    return UserInterruptEvent(reply_id=reply_id)


DONE: Turn = [[text("done")]]
SCENARIOS: dict[str, tuple[list[Turn], list[Answer]]] = {
    "text": ([[[text("Hel")], [text("lo")]]], []),
    "thinking": ([[[thinking("h")], [thinking("m"), text("Hi")], [text("!")]]], []),
    "thinking only": ([[[thinking("hm")]], DONE], []),
    "text, tool, text": (
        [[[text("a")], [call("c1", "fast", "{"), call("c1", "fast", "}")], [text("b", "t2")]], DONE],
        [],
    ),
    "sound": ([[[text("a")], [sound(b"ab")], [text("b")], [sound(b"c")]]], []),
    "parallel": ([[[call("c1", "slow"), call("c2", "fast")], [text("!")]], DONE], []),
    "interleaved": (
        [
            [
                [call("c1", "fast", "{")],
                [call("c2", "fast", "{")],
                [call("c1", "fast", "}")],
                [call("c2", "fast", "}")],
            ],
            DONE,
        ],
        [],
    ),
    "errors": ([[[call("c1", "broken"), call("c2", "nobody"), call("c3", "fast", "not json")]], DONE], []),
    "max iterations": ([[[call("c1", "fast")]], [[call("c2", "fast")]], [[text("In short, no.")]]], []),
    "model error": ([[[text("Hel")], ValueError("it broke")]], []),  # type: ignore[list-item]
    "allowed": ([[[call("c1", "risky", '{"q": "x"}')]], DONE], [confirm(True)]),
    "edited": ([[[call("c1", "risky", '{"q": "x"}')]], DONE], [confirm(True, input='{"q": "y"}')]),
    "denied": ([[[call("c1", "risky")]], DONE], [confirm(False)]),
    "external": ([[[call("c1", "elsewhere")]], DONE], [execute("42")]),
    "mixed": (
        [[[call("c1", "risky"), call("c2", "elsewhere"), call("c3", "fast")]], DONE],
        [confirm(True), execute("42")],
    ),
    "interrupted": ([[[call("c1", "risky")]], DONE], [interrupt]),
}


async def run(scenario: str) -> None:
    turns, answers = SCENARIOS[scenario]
    agent = Agent(
        "Friday",
        "Be brief.",
        ScriptedModel(turns),
        toolkit=toolkit(),
        react_config=ReActConfig(max_iters=2),
    )
    inputs: Any = UserMsg("user", "go")
    waiting: dict[type, list[Any]] = {RequireUserConfirmEvent: [], RequireExternalExecutionEvent: []}
    reply_id = ""
    for answer in [*answers, None]:
        try:
            async for event in agent.reply_stream(inputs):
                reply_id = getattr(event, "reply_id", reply_id)
                if type(event) in waiting:
                    waiting[type(event)] += event.tool_calls
                say(event.model_dump(mode="json"))
        except ValueError as error:
            if str(error) != "it broke":
                raise
        if answer is not None:
            asked = (
                RequireExternalExecutionEvent if answer.__qualname__.startswith("execute") else RequireUserConfirmEvent
            )
            inputs = answer(reply_id, [block.model_copy() for block in waiting[asked]])
            if not isinstance(inputs, UserInterruptEvent):
                say(inputs.model_dump(mode="json"))
    replies = [message for message in agent.state.context if message.role == "assistant"]
    say({"stored": [message.model_dump(mode="json") for message in replies]})


# ------------------------------------------------------------------------------------------------ parsing


def parse(streams: Iterable[str]) -> None:
    adapter: TypeAdapter[Any] = TypeAdapter(AgentEvent)
    for stream in streams:
        reply: Msg | None = None
        for line in stream.strip("\n").split("\n"):
            event = adapter.validate_json(line)
            say({"class": type(event).__name__, "event": event.model_dump(mode="json")})
            if event.type == "REPLY_START" and reply is None:
                reply = AssistantMsg(event.name, [], id=event.reply_id)
            elif reply is not None and getattr(event, "reply_id", reply.id) == reply.id:
                reply.append_event(event)
        say({"reply": None if reply is None else reply.model_dump(mode="json")})


def parse_messages(lines: Iterable[str]) -> None:
    for line in lines:
        say(Msg.model_validate_json(line).model_dump(mode="json"))


def say(value: Any) -> None:
    print(json.dumps(value), flush=True)


if __name__ == "__main__":
    what, *rest = sys.argv[1:]
    if what == "run":
        asyncio.run(run(rest[0]))
    elif what == "parse":
        parse(sys.stdin.read().split("\n\n"))
    else:
        parse_messages(sys.stdin)
