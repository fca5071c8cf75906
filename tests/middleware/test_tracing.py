"""`Tracing`: the spans of real runs, as the SDK's in-memory exporter gets them."""

from __future__ import annotations

import asyncio
import json
import logging
import sys
from typing import Any

import pytest
from opentelemetry import trace
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.semconv._incubating.attributes import gen_ai_attributes
from opentelemetry.trace import SpanKind, StatusCode

from agentscope_rx import (
    FallbackModel,
    MissingExtraError,
    ModelError,
    ModelOptions,
    ModelStreamError,
    PermissionContext,
    ReActAgent,
    RuntimeContext,
    Tracing,
    tool,
)
from agentscope_rx.message import Base64Source, DataBlock, TextBlock, URLSource, UserMessage
from agentscope_rx.operators import from_source
from agentscope_rx.testing import ScriptedModel, error, text, thinking, tool_call, usage

from ..agent.shapes import collect, run

SECRET = "hunter2"


class Traces:
    """A provider of its own, and what it exported."""

    def __init__(self) -> None:
        self._exporter = InMemorySpanExporter()
        self.provider = TracerProvider()
        self.provider.add_span_processor(SimpleSpanProcessor(self._exporter))
        self.tracer = self.provider.get_tracer("application")

    @property
    def spans(self) -> list[ReadableSpan]:
        return sorted(self._exporter.get_finished_spans(), key=lambda span: span.start_time or 0)

    def tree(self) -> list[str]:
        """Return the spans, indented below their parents, in order of their starts."""
        children: dict[int | None, list[ReadableSpan]] = {}
        for span in self.spans:
            children.setdefault(span.parent.span_id if span.parent else None, []).append(span)

        def below(parent: int | None, depth: int) -> list[str]:
            return [
                line
                for span in children.get(parent, [])
                for line in ("  " * depth + span.name, *below(span.context.span_id, depth + 1))
            ]

        return below(None, 0)

    def named(self, name: str) -> ReadableSpan:
        (span,) = (span for span in self.spans if span.name == name)
        return span


def attributes(span: ReadableSpan) -> dict[str, Any]:
    return dict(span.attributes or {})


def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


def adding() -> ScriptedModel:
    return ScriptedModel(
        [
            [
                thinking(SECRET),
                tool_call("add", {"a": 1, "b": 2}),
                tool_call("add", {"a": 3, "b": 4}),
                usage(100, 20),
            ],
            [text("3 and 7."), usage(150, 5)],
        ]
    )


def test_the_spans_of_a_run_with_parallel_tools() -> None:
    traces = Traces()
    agent = ReActAgent(
        "friday",
        adding(),
        tools=[add],
        middlewares=[Tracing(traces.provider)],
        options=ModelOptions(temperature=0.5, max_tokens=300),
    )
    run(collect(agent, "go"))
    assert traces.tree() == [
        "invoke_agent friday",
        "  chat scripted",
        "  execute_tool add",
        "  execute_tool add",
        "  chat scripted",
    ]
    whole, first, tool_span, *_ = traces.spans
    assert (whole.kind, first.kind, tool_span.kind) == (SpanKind.INTERNAL, SpanKind.CLIENT, SpanKind.INTERNAL)
    assert attributes(whole) == {
        "gen_ai.operation.name": "invoke_agent",
        "gen_ai.agent.name": "friday",
        "gen_ai.conversation.id": "friday",
        "gen_ai.usage.input_tokens": 250,
        "gen_ai.usage.output_tokens": 25,
        "gen_ai.response.finish_reasons": ("MODEL_STOP",),
    }
    chat = attributes(first)
    assert chat.pop("gen_ai.response.time_to_first_chunk") >= 0
    assert chat == {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": "ScriptedModel",
        "gen_ai.agent.name": "friday",
        "gen_ai.conversation.id": "friday",
        "gen_ai.request.model": "scripted",
        "gen_ai.request.stream": True,
        "gen_ai.request.temperature": 0.5,
        "gen_ai.request.max_tokens": 300,
        "gen_ai.usage.input_tokens": 100,
        "gen_ai.usage.output_tokens": 20,
        "gen_ai.response.finish_reasons": ("tool_call",),
    }
    assert attributes(tool_span) == {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.agent.name": "friday",
        "gen_ai.conversation.id": "friday",
        "gen_ai.tool.name": "add",
        "gen_ai.tool.call.id": "call_1",
        "gen_ai.tool.type": "function",
        "gen_ai.tool.description": "Add two numbers.",
    }


def test_every_attribute_is_one_of_the_conventions() -> None:
    defined = {value for value in vars(gen_ai_attributes).values() if isinstance(value, str)} | {"error.type"}
    traces = Traces()
    model = ScriptedModel([[tool_call("nothing", {})], [error(ModelStreamError("broken"))]])
    agent = ReActAgent("friday", model, "Be brief.", middlewares=[Tracing(traces.provider, capture_content=True)])
    with pytest.raises(ModelError):
        run(collect(agent, "go"))
    assert {name for span in traces.spans for name in attributes(span)} <= defined


def test_nothing_that_was_said_is_recorded_unless_asked_for() -> None:
    @tool
    def leak(word: str) -> str:
        """Say a word."""
        raise ValueError(word)

    traces = Traces()
    model = ScriptedModel([[thinking(SECRET), text(SECRET), tool_call("leak", {"word": SECRET})], [text(SECRET)]])
    agent = ReActAgent("friday", model, SECRET, tools=[leak], middlewares=[Tracing(traces.provider)])
    run(collect(agent, SECRET))
    assert SECRET not in "".join(span.to_json() for span in traces.spans)
    failed = traces.named("execute_tool leak")
    assert (failed.status.status_code, attributes(failed)["error.type"]) == (StatusCode.ERROR, "tool_error")


def test_content_is_recorded_when_asked_for() -> None:
    traces = Traces()
    model = ScriptedModel([[thinking("Hm."), text("Let me see."), tool_call("add", {"a": 1, "b": 2})], [text("3.")]])
    agent = ReActAgent(
        "friday", model, "Be brief.", tools=[add], middlewares=[Tracing(traces.provider, capture_content=True)]
    )
    picture = DataBlock(source=Base64Source(media_type="image/png", data="AAAA"))
    page = DataBlock(source=URLSource(url="https://example.com/a.pdf", media_type="application/pdf"))
    run(collect(agent, UserMessage([TextBlock(text="1+2?"), picture, page])))
    _, first, tool_span, second = traces.spans
    assert json.loads(attributes(first)["gen_ai.system_instructions"]) == [{"type": "text", "content": "Be brief."}]
    asked = {
        "role": "user",
        "parts": [
            {"type": "text", "content": "1+2?"},
            {"type": "blob", "mime_type": "image/png", "modality": "image", "content": "AAAA"},
            {
                "type": "uri",
                "mime_type": "application/pdf",
                "modality": "document",
                "uri": "https://example.com/a.pdf",
            },
        ],
    }
    said = [
        {"type": "reasoning", "content": "Hm."},
        {"type": "text", "content": "Let me see."},
        {"type": "tool_call", "id": "call_1", "name": "add", "arguments": {"a": 1, "b": 2}},
    ]
    assert json.loads(attributes(first)["gen_ai.input.messages"]) == [asked]
    assert json.loads(attributes(first)["gen_ai.output.messages"]) == [
        {"role": "assistant", "parts": said, "finish_reason": "tool_call"}
    ]
    (definition,) = json.loads(attributes(first)["gen_ai.tool.definitions"])
    assert (definition["type"], definition["name"]) == ("function", "add")
    assert json.loads(attributes(tool_span)["gen_ai.tool.call.arguments"]) == {"a": 1, "b": 2}
    assert json.loads(attributes(tool_span)["gen_ai.tool.call.result"]) == "3"
    assert json.loads(attributes(second)["gen_ai.input.messages"]) == [
        asked,
        {"role": "assistant", "parts": said},
        {"role": "tool", "parts": [{"type": "tool_call_response", "id": "call_1", "response": "3"}]},
    ]


def test_what_a_tool_records_and_a_nested_agent_are_within_its_call() -> None:
    traces = Traces()
    inner = ReActAgent("inner", ScriptedModel([[text("yes")]]), middlewares=[Tracing(traces.provider)])

    @tool
    async def ask() -> str:
        """Ask another agent."""
        with traces.tracer.start_as_current_span("looking up"):
            return (await inner.call("?")).get_text_content()

    @tool
    def compute() -> str:
        """Compute, in a thread."""
        with traces.tracer.start_as_current_span("computing"):
            return "42"

    model = ScriptedModel([[tool_call("ask", {}), tool_call("compute", {})], [text("Done.")]])
    agent = ReActAgent("outer", model, tools=[ask, compute], middlewares=[Tracing(traces.provider)])
    run(collect(agent, "go"))
    assert sorted(traces.tree()) == sorted(
        [
            "invoke_agent outer",
            "  chat scripted",
            "  execute_tool ask",
            "    looking up",
            "      invoke_agent inner",
            "        chat scripted",
            "  execute_tool compute",
            "    computing",
            "  chat scripted",
        ]
    )


def test_a_nested_stream_that_is_passed_on_counts_for_itself() -> None:
    traces = Traces()
    inner = ReActAgent("inner", ScriptedModel([[text("yes"), usage(7, 3)]]), middlewares=[Tracing(traces.provider)])

    @tool
    async def ask():
        """Ask another agent."""
        yield inner.stream_events("?").pipe(from_source("inner"))

    model = ScriptedModel([[tool_call("ask", {}), usage(10, 1)], [text("Done."), usage(20, 2)]])
    agent = ReActAgent("outer", model, tools=[ask], middlewares=[Tracing(traces.provider)])
    run(collect(agent, "go"))
    assert attributes(traces.named("invoke_agent outer"))["gen_ai.usage.input_tokens"] == 30


def test_the_run_is_within_the_span_of_the_subscriber_who_sees_only_its_own() -> None:
    traces = Traces()
    agent = ReActAgent("friday", adding(), tools=[add], middlewares=[Tracing(traces.provider)])
    seen: list[Any] = []

    async def main() -> None:
        with traces.tracer.start_as_current_span("request") as request:
            done = asyncio.Event()
            agent.stream_events("go").subscribe(
                lambda event: seen.append(trace.get_current_span()), on_completed=done.set
            )
            await done.wait()
            assert trace.get_current_span() is request
        assert set(seen) == {request}

    asyncio.run(main())
    assert traces.tree()[:2] == ["request", "  invoke_agent friday"]
    assert len(seen) > 10


def test_the_subscriber_of_a_run_that_fails_sees_only_its_own_span_too() -> None:
    traces = Traces()
    model = ScriptedModel([[text("Well"), error(ModelStreamError("the stream broke off"))]])
    agent = ReActAgent("friday", model, middlewares=[Tracing(traces.provider)])
    seen: list[Any] = []

    async def main() -> None:
        with traces.tracer.start_as_current_span("request") as request:
            done = asyncio.Event()

            def note(_: Any) -> None:
                seen.append(trace.get_current_span())

            agent.stream_events("go").subscribe(note, lambda error: (note(error), done.set()))  # type: ignore[func-returns-value]
            await done.wait()
        assert set(seen) == {request}

    asyncio.run(main())


def test_two_subscribers_are_two_traces() -> None:
    traces = Traces()
    model = ScriptedModel([[text("one")], [text("two")]])
    stream = ReActAgent("friday", model, middlewares=[Tracing(traces.provider)]).stream_events("go")
    stream.run()
    stream.run()
    assert traces.tree() == ["invoke_agent friday", "  chat scripted"] * 2
    assert len({span.context.trace_id for span in traces.spans}) == 2


def test_each_try_of_a_fallback_has_a_span() -> None:
    traces = Traces()
    first = ScriptedModel([[text("Well"), error(ModelStreamError("the stream broke off"))]])
    other = ScriptedModel([[text("3.")]])
    agent = ReActAgent("friday", first, middlewares=[FallbackModel(other), Tracing(traces.provider)])
    run(collect(agent, "go"))
    whole, broken, answered = traces.spans
    assert traces.tree() == ["invoke_agent friday", "  chat scripted", "  chat scripted"]
    assert (broken.status.status_code, broken.status.description) == (StatusCode.ERROR, "the stream broke off")
    assert attributes(broken)["error.type"] == "ModelStreamError"
    assert answered.status.status_code is whole.status.status_code is StatusCode.UNSET


def test_a_run_that_fails() -> None:
    traces = Traces()
    agent = ReActAgent(
        "friday", ScriptedModel([[error(ModelStreamError("broken"))]]), middlewares=[Tracing(traces.provider)]
    )
    with pytest.raises(ModelStreamError):
        run(collect(agent, "go"))
    assert [(span.name, span.status.status_code, attributes(span)["error.type"]) for span in traces.spans] == [
        ("invoke_agent friday", StatusCode.ERROR, "ModelStreamError"),
        ("chat scripted", StatusCode.ERROR, "ModelStreamError"),
    ]


@pytest.mark.parametrize("count", range(1, 22))
def test_b7_75_a_run_that_is_left_early_ends_its_spans_quietly(count: int, caplog: Any) -> None:
    traces = Traces()
    agent = ReActAgent("friday", adding(), tools=[add], middlewares=[Tracing(traces.provider)])

    async def main() -> None:
        taken = 0
        async for _ in agent.stream_events("go"):
            taken += 1
            if taken == count:
                break
        await agent.observe(UserMessage("next"))  # the gate is free again: the run is over

    with caplog.at_level(logging.DEBUG, logger="opentelemetry"):
        asyncio.run(main())
    assert [record for record in caplog.records if record.name.startswith("opentelemetry")] == []
    spans = traces.spans
    assert spans[0].name == "invoke_agent friday"
    assert all(span.parent.span_id == spans[0].context.span_id for span in spans[1:] if span.parent)
    assert all(span.end_time for span in spans)


def test_an_interrupted_run_is_no_failure() -> None:
    traces = Traces()
    started = asyncio.Event

    async def main() -> None:
        begun = started()

        @tool
        async def wait() -> str:
            """Wait."""
            begun.set()
            await asyncio.sleep(60)
            return "never"

        model = ScriptedModel([[tool_call("wait", {})]])
        agent = ReActAgent("friday", model, tools=[wait], middlewares=[Tracing(traces.provider)])
        running = asyncio.ensure_future(collect(agent, "go"))
        await begun.wait()
        agent.interrupt()
        await running

    asyncio.run(main())
    whole = traces.named("invoke_agent friday")
    assert attributes(whole)["gen_ai.response.finish_reasons"] == ("INTERRUPTED",)
    assert whole.status.status_code is StatusCode.UNSET
    assert traces.named("execute_tool wait").end_time


def test_a_pause_ends_the_run() -> None:
    traces = Traces()
    agent = ReActAgent(
        "friday", adding(), tools=[add], middlewares=[Tracing(traces.provider)], permission=PermissionContext()
    )
    run(collect(agent, "go", RuntimeContext(session_id="s-1")))
    whole = traces.named("invoke_agent friday")
    assert attributes(whole)["gen_ai.response.finish_reasons"] == ("PERMISSION_ASKING",)
    assert attributes(whole)["gen_ai.conversation.id"] == "s-1"


def test_without_the_package_the_error_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "opentelemetry", None)
    with pytest.raises(MissingExtraError, match=r'pip install "agentscope-rx\[otel\]"'):
        Tracing()
