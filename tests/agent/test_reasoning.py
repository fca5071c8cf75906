"""Model calls that fail and are made again: what is seen, folded, stored and sent (fault B8-89)."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterable
from typing import Any

import pytest
from reactivex import operators as ops

from agentscope_rx import (
    AgentEvent,
    AgentResultEvent,
    AnthropicModel,
    FinishReason,
    GenerateReason,
    MessageBuilder,
    ModelCallEndEvent,
    ModelCallResetEvent,
    ModelCallStartEvent,
    ModelTruncatedError,
    Msg,
    OpenAIChatModel,
    ReActAgent,
    RetryPolicy,
    TextBlock,
    ToolResultBlock,
    ToolUseBlock,
    decode,
    encode,
)
from agentscope_rx.operators import accumulate_text, hook, scan_message, to_message
from agentscope_rx.testing import (
    ScriptedModel,
    error,
    finish,
    reset,
    text,
    thinking,
    tool_call,
    truncate,
    usage,
)

from ..model.loopback import Answer, Exchange, Server, serving
from ..model.openai_chat.decoding import DONE, STOP, call, delta, sse
from .shapes import collect, collect_failing, run, types

COST = {"choices": [], "usage": {"prompt_tokens": 7, "completion_tokens": 2}}


async def instantly(seconds: float) -> None:
    assert seconds > 0


def served(server: Server, **policy: Any) -> OpenAIChatModel:
    return OpenAIChatModel("m", api_key="k", base_url=server.url, retry=RetryPolicy(sleep=instantly, **policy))


def breaking(*frames: Any) -> Answer:
    """A stream that costs something, says something, and ends without a finish."""

    async def answer(exchange: Exchange) -> None:
        await exchange.respond(sse(COST, *frames))

    return answer


def saying(*frames: Any) -> Answer:
    async def answer(exchange: Exchange) -> None:
        await exchange.respond(sse(*frames, STOP, COST, DONE))

    return answer


async def unavailable(exchange: Exchange) -> None:
    await exchange.respond(b"{}", 503, "application/json")


def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


def result(events: Iterable[AgentEvent]) -> Msg:
    [end] = [event for event in events if isinstance(event, AgentResultEvent)]
    return end.result


def resets(events: Iterable[AgentEvent]) -> list[ModelCallResetEvent]:
    return [event for event in events if isinstance(event, ModelCallResetEvent)]


def test_b8_89_a_failure_before_any_content_is_made_again_in_silence() -> None:
    async def main() -> None:
        async with serving(unavailable, breaking(), saying(delta(content="Hello"))) as server:
            events = await collect(ReActAgent("friday", served(server)), "hi")
            assert types(events) == [
                "AGENT_START", "MODEL_CALL_START", "TEXT_BLOCK_START", "TEXT_BLOCK_DELTA", "TEXT_BLOCK_END",
                "MODEL_CALL_END", "AGENT_RESULT", "AGENT_END",
            ]  # fmt: skip
            message = result(events)
            assert message.usage is not None
            assert (message.get_text_content(), message.usage.input_tokens, message.usage.output_tokens) == (
                "Hello", 14, 4,
            )  # fmt: skip

    run(main())


def test_b8_89_after_content_nothing_is_made_again_by_default() -> None:
    async def main() -> None:
        async with serving(breaking(delta(content="Hel"), delta(content="lo")), saying()) as server:
            events, failure = await collect_failing(ReActAgent("friday", served(server)), "hi")
            assert isinstance(failure, ModelTruncatedError)
            assert (len(server.exchanges), resets(events)) == (1, [])
            assert (result(events).get_text_content(), result(events).generate_reason) == (
                "Hello", GenerateReason.ERROR,
            )  # fmt: skip

    run(main())


def test_b8_89_opted_in_a_reset_withdraws_the_attempt_and_only_the_last_one_is_kept() -> None:
    async def main() -> None:
        first = (delta(reasoning_content="hm"), delta(content="Hel"), delta(content="lo"))
        async with serving(breaking(*first), saying(delta(content="Good day")), saying(delta(content="Bye"))) as server:
            agent = ReActAgent("friday", served(server, after_content=True))
            events = await collect(agent, "hi")
            assert types(events) == [
                "AGENT_START", "MODEL_CALL_START",
                "THINKING_BLOCK_START", "THINKING_BLOCK_DELTA", "THINKING_BLOCK_END",
                "TEXT_BLOCK_START", "TEXT_BLOCK_DELTA", "TEXT_BLOCK_END", "MODEL_CALL_RESET",
                "TEXT_BLOCK_START", "TEXT_BLOCK_DELTA", "TEXT_BLOCK_END",
                "MODEL_CALL_END", "AGENT_RESULT", "AGENT_END",
            ]  # fmt: skip
            [withdrawn] = resets(events)
            assert (withdrawn.attempt, "broke off" in withdrawn.reason) == (1, True)
            message = result(events)
            assert [block.text for block in message.content if isinstance(block, TextBlock)] == ["Good day"]
            assert len(message.content) == 1
            assert message.usage is not None
            assert (message.usage.input_tokens, message.usage.output_tokens) == (14, 4)
            builder = MessageBuilder()
            for event in events:
                builder.apply(decode(encode(event)))
            assert builder.message() == message

            assert (await agent.get_state()).history[-1].get_text_content() == "Good day"
            await collect(agent, "and?")
            sent = server.exchanges[2].body["messages"]
            assert [turn["content"] for turn in sent] == ["hi", "Good day", "and?"]

    run(main())


def test_b8_89_a_call_that_was_withdrawn_is_not_run_and_its_id_is_not_given_again() -> None:
    async def main() -> None:
        cut_call = delta(tool_calls=[call('{"a": 1, "b"', id="c", name="add")])
        whole_call = delta(tool_calls=[call('{"a": 1, "b": 2}', id="c", name="add")])
        async with serving(breaking(cut_call), saying(whole_call), saying(delta(content="3"))) as server:
            events = await collect(ReActAgent("friday", served(server, after_content=True), tools=[add]), "1 + 2?")
            message = result(events)
            assert [block.id for block in message.get_content_blocks(ToolUseBlock)] == ["c~2"]
            [answer] = message.get_content_blocks(ToolResultBlock)
            assert (answer.id, answer.output) == ("c~2", (TextBlock("3"),))
            [_, turn, output] = server.exchanges[2].body["messages"]
            assert [asked["id"] for asked in turn["tool_calls"]] == ["c~2"] == [output["tool_call_id"]]

    run(main())


def test_b8_89_when_every_attempt_breaks_the_last_one_stands() -> None:
    async def main() -> None:
        async with serving(*(breaking(delta(content=word)) for word in ("one", "two", "three"))) as server:
            events, failure = await collect_failing(ReActAgent("friday", served(server, after_content=True)), "hi")
            assert isinstance(failure, ModelTruncatedError)
            assert [withdrawn.attempt for withdrawn in resets(events)] == [1, 2]
            assert result(events).get_text_content() == "three"
            [end] = [event for event in events if isinstance(event, ModelCallEndEvent)]
            assert (end.finish_reason, end.input_tokens) == ("error", 21)

    run(main())


def test_b8_89_leaving_between_two_attempts_keeps_nothing_of_the_first() -> None:
    async def main() -> None:
        async def forever(seconds: float) -> None:
            await asyncio.Event().wait()

        async with serving(breaking(delta(content="Hel"))) as server:
            retry = RetryPolicy(sleep=forever, after_content=True)
            agent = ReActAgent("friday", OpenAIChatModel("m", api_key="k", base_url=server.url, retry=retry))
            async with agent.stream_events("hi").iterate() as events:
                async for event in events:
                    if isinstance(event, ModelCallResetEvent):
                        break
            history = (await agent.get_state()).history
            assert [message.get_text_content() for message in history] == ["hi"]

    run(main())


# ---------------------------------------------------------------------------------------------------- pauses


def test_an_answer_that_the_model_has_paused_is_gone_on_with_in_the_same_reply() -> None:
    async def main() -> None:
        search = {"type": "server_tool_use", "id": "s1", "name": "web_search", "input": {"q": "x"}}
        found = {"type": "web_search_tool_result", "tool_use_id": "s1", "content": []}

        def message(stop_reason: str, *content: Any) -> Answer:
            async def answer(exchange: Exchange) -> None:
                body = {"type": "message", "content": content, "stop_reason": stop_reason}
                await exchange.respond(json.dumps(body).encode(), content_type="application/json")

            return answer

        said = {"type": "text", "text": "I look it up."}
        answers = (
            message("pause_turn", said, search),
            message("end_turn", found, {"type": "text", "text": "It is 3."}),
        )
        async with serving(*answers) as server:
            agent = ReActAgent("friday", AnthropicModel("m", api_key="k", base_url=server.url))
            events = await collect(agent, "1 + 2?")
            ends = [event for event in events if isinstance(event, ModelCallEndEvent)]
            assert [end.finish_reason for end in ends] == [FinishReason.PAUSE, FinishReason.STOP]
            assert [text.text for text in result(events).get_content_blocks(TextBlock)] == ["I look it up.", "It is 3."]
            assert result(events).generate_reason is GenerateReason.MODEL_STOP
            [_, sent] = [exchange.body["messages"] for exchange in server.exchanges]
            assert sent[1:] == [{"role": "assistant", "content": [said, search]}]

    run(main())


def test_a_model_that_pauses_for_ever_is_bounded_by_the_iterations() -> None:
    paused = [text("still searching"), finish("pause")]
    model = ScriptedModel([paused, paused, [text("not found")]])
    events = run(collect(ReActAgent("friday", model, max_iters=2), "go"))
    assert result(events).generate_reason is GenerateReason.MAX_ITERATIONS


# ---------------------------------------------------------------------------------------------------- consumers


TURN = [thinking("hm"), text("wro"), usage(5, 1), reset("broke"), text("ri"), text("ght"), usage(5, 2)]


def test_b8_89_scan_message_drops_what_was_withdrawn_at_once() -> None:
    agent = ReActAgent("friday", ScriptedModel([TURN]))
    seen: list[tuple[str, str]] = []
    agent.stream_events("go").pipe(
        scan_message(),
        ops.do_action(lambda view: seen.append((view.event.type, view.message().get_text_content()))),
    ).run()
    texts = [text for kind, text in seen if kind in ("TEXT_BLOCK_DELTA", "MODEL_CALL_RESET")]
    assert texts == ["wro", "", "ri", "right"]


def test_b8_89_accumulated_texts_of_the_attempts_are_kept_apart_by_their_blocks() -> None:
    agent = ReActAgent("friday", ScriptedModel([TURN]))
    items = agent.stream_events("go").pipe(accumulate_text(), ops.to_list()).run()
    assert items is not None
    assert [(item.text, item.done) for item in items] == [
        ("wro", False), ("wro", True), ("ri", False), ("right", False), ("right", True),
    ]  # fmt: skip
    assert len({item.block_id for item in items}) == 2


@pytest.mark.parametrize("where", ["agent", "pipe"])
@pytest.mark.parametrize("phase", ["on_agent", "on_reasoning", "on_model_call"])
def test_b8_89_hooks_see_the_reset_where_it_happens(where: str, phase: str) -> None:
    seen: list[AgentEvent] = []
    noting = hook(**{phase: ops.do_action(seen.append)})
    agent = ReActAgent("friday", ScriptedModel([TURN]), middlewares=[noting] if where == "agent" else [])
    stream = agent.stream_events("go")
    message = (stream if where == "agent" else stream.pipe(noting)).pipe(to_message()).run()
    assert types(event for event in seen if event.type.startswith(("MODEL_CALL", "TEXT_BLOCK"))) == [
        "MODEL_CALL_START", "TEXT_BLOCK_START", "TEXT_BLOCK_DELTA", "TEXT_BLOCK_END", "MODEL_CALL_RESET",
        "TEXT_BLOCK_START", "TEXT_BLOCK_DELTA", "TEXT_BLOCK_END", "MODEL_CALL_END",
    ]  # fmt: skip
    assert message is not None
    assert message.get_text_content() == "right"


def test_b8_89_a_finish_and_calls_that_were_withdrawn_decide_nothing() -> None:
    turn = [tool_call("add", {"a": 1, "b": 2}), finish("tool_calls"), reset("broke"), text("done")]
    events = run(collect(ReActAgent("friday", ScriptedModel([turn]), tools=[add]), "go"))
    assert "TOOL_RESULT_START" not in types(events)
    assert result(events).get_text_content() == "done"


# ---------------------------------------------------------------------------------------------------- fallback


def test_b8_89_a_fallback_withdraws_the_attempt_that_the_others_have_left() -> None:
    first = ScriptedModel([[text("one"), reset("broke"), text("two"), truncate()]], model_name="first")
    second = ScriptedModel([[text("right")]], model_name="second")
    events = run(collect(ReActAgent("friday", first, fallback_model=second), "go"))
    assert [(withdrawn.attempt, withdrawn.reason) for withdrawn in resets(events)] == [
        (1, "broke"), (2, "the model failed"),
    ]  # fmt: skip
    assert result(events).get_text_content() == "right"


def test_b8_89_a_fallback_has_nothing_to_withdraw_after_a_reset() -> None:
    first = ScriptedModel([[text("one"), reset("broke"), truncate()]])
    second = ScriptedModel([[text("right")]])
    events = run(collect(ReActAgent("friday", first, fallback_model=second), "go"))
    assert [withdrawn.attempt for withdrawn in resets(events)] == [1]
    starts = [event.model_call_id for event in events if isinstance(event, ModelCallStartEvent)]
    assert len(starts) == 2


def test_b8_89_the_calls_of_a_fallback_get_ids_that_were_not_withdrawn() -> None:
    add_call = tool_call("add", {"a": 1, "b": 2}, id="call_1")
    first = ScriptedModel([[add_call, error(ModelTruncatedError("cut"))], [text("3")]])
    second = ScriptedModel([[add_call]])
    events = run(collect(ReActAgent("friday", first, fallback_model=second, tools=[add]), "go"))
    assert [block.id for block in result(events).get_content_blocks(ToolUseBlock)] == ["call_1~2"]
