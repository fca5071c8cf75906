"""Structured output: what the model is asked, what it gives, and what becomes of the message."""

from __future__ import annotations

import asyncio
import json
import sys
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any, Literal

import pytest
from pydantic import BaseModel, Field, SecretStr, computed_field, field_validator
from typing_extensions import TypedDict

from agentscope_rx import (
    AgentEndEvent,
    ConfigurationError,
    ConfirmResult,
    HintBlockEvent,
    MissingExtraError,
    ModelOptions,
    PermissionContext,
    ReActAgent,
    SqliteStateStore,
    StructuredOutputError,
    ToolError,
    UserConfirmResultEvent,
)
from agentscope_rx.message import ToolResultBlock
from agentscope_rx.model import OutputSupport
from agentscope_rx.testing import ScriptedModel, finish, text, tool_call

from .shapes import collect_failing, run


class City(BaseModel):
    """A city."""

    name: str
    people: int = Field(default=0, ge=0)


@dataclass
class Point:
    x: int
    y: int = 0


class Row(TypedDict):
    key: str


ULM = {"name": "Ulm", "people": 126_000}


class NativeModel(ScriptedModel):
    """A test double of a model whose provider makes it keep to a format."""

    def __init__(self, turns: Any, support: OutputSupport = OutputSupport.BESIDE_TOOLS) -> None:
        super().__init__(turns)
        self.output_support = support


def gives(value: Any) -> list[Any]:
    return [tool_call("generate_response", value)]


def population(name: str) -> int:
    """Look up how many live in a city."""
    return 126_000


def offered(model: ScriptedModel) -> list[tuple[list[str], str | None, bool]]:
    """For each request: its tools, the tool that it chooses, and whether it asks for a format."""
    return [
        ([tool.name for tool in request.tools], request.options.tool_choice, request.options.output is not None)
        for request in model.requests
    ]


def hints(events: list[Any]) -> list[tuple[str, Any]]:
    return [(event.hint_source, event.hint) for event in events if isinstance(event, HintBlockEvent)]


# ---------------------------------------------------------------------------------------------------------- by a tool


def test_a_model_gives_the_object_by_a_tool() -> None:
    model = ScriptedModel([gives(ULM)])
    message = ReActAgent("friday", model).call("Where?", output_type=City).run()
    assert message.structured(City) == City(name="Ulm", people=126_000)
    assert message.generate_reason == "STRUCTURED_OUTPUT"
    (schema,) = model.requests[0].tools
    assert schema.parameters["properties"]["name"] == {"type": "string"}
    assert [(b.name, b.state) for b in message.get_content_blocks(ToolResultBlock)] == [
        ("generate_response", "success")
    ]


def test_tools_come_before() -> None:
    model = ScriptedModel([[tool_call("population", {"name": "Ulm"})], gives(ULM)])
    message = ReActAgent("friday", model, tools=[population]).call("Where?", output_type=City).run()
    assert message.structured_output == ULM
    assert offered(model) == [(["population", "generate_response"], None, False)] * 2


def test_the_events_of_a_reply_with_an_object() -> None:
    async def main() -> None:
        agent = ReActAgent("friday", ScriptedModel([gives(ULM)]))
        events = [event async for event in agent.stream_events("Where?", output_type=City)]
        assert [event.type for event in events] == [
            "AGENT_START",
            "MODEL_CALL_START",
            *["TOOL_CALL_START", "TOOL_CALL_DELTA", "TOOL_CALL_END"],
            "MODEL_CALL_END",
            *["TOOL_RESULT_START", "TOOL_RESULT_TEXT_DELTA", "TOOL_RESULT_END"],
            "AGENT_RESULT",
            "AGENT_END",
        ]
        end = events[-1]
        assert isinstance(end, AgentEndEvent)
        assert (end.structured_output, end.generate_reason) == (ULM, "STRUCTURED_OUTPUT")

    asyncio.run(main())


def test_what_does_not_fit_is_told_and_tried_again() -> None:
    model = ScriptedModel([gives({"people": -1}), gives(ULM)])
    message = ReActAgent("friday", model).call("Where?", output_type=City).run()
    assert message.structured_output == ULM
    first, second = message.get_content_blocks(ToolResultBlock)
    assert (first.state, second.state) == ("error", "success")
    assert "- name: Field required\n- people: Input should be greater than or equal to 0" in first.output[0].text


def test_a_model_that_answers_in_words_is_asked_for_the_object_and_can_give_nothing_else() -> None:
    model = ScriptedModel([[text("It is Ulm.")], gives(ULM)])
    agent = ReActAgent("friday", model, tools=[population])

    async def main() -> None:
        events = [event async for event in agent.stream_events("Where?", output_type=City)]
        assert hints(events) == [("structured_output", "Give your answer now: call generate_response.")]
        assert events[-1].structured_output == ULM

    asyncio.run(main())
    assert offered(model) == [
        (["population", "generate_response"], None, False),
        (["generate_response"], "generate_response", False),
    ]


def test_a_model_that_never_gives_it_fails_in_words_that_repeat_nothing() -> None:
    secret = "hunter2"
    turns: list[Any] = [[text(secret)], gives({"name": [secret]}), [text(secret)], gives({"people": secret})]
    agent = ReActAgent("friday", ScriptedModel(turns))

    events, error = run(collect_failing(agent, "go", None, City))
    assert isinstance(error, StructuredOutputError)
    assert "asked 3 times for 'City'" in str(error)
    assert secret not in str(error)
    assert (events[-1].generate_reason, events[-1].structured_output) == ("ERROR", None)


def test_an_empty_answer_is_no_object() -> None:
    model = ScriptedModel([[text(" ")], gives(ULM)])
    assert ReActAgent("friday", model).call("Where?", output_type=City).run().structured_output == ULM


def test_the_answer_beside_other_calls_waits_for_them() -> None:
    ran: list[str] = []

    def note(word: str) -> str:
        """Write down a word."""
        ran.append(word)
        return "noted"

    model = ScriptedModel([[tool_call("note", {"word": "a"}), *gives(ULM), tool_call("note", {"word": "b"})]])
    message = ReActAgent("friday", model, tools=[note]).call("go", output_type=City).run()
    assert (ran, message.structured_output) == (["a", "b"], ULM)


def test_at_the_limit_of_iterations_the_object_is_still_asked_for() -> None:
    model = ScriptedModel([[tool_call("population", {"name": "Ulm"})], gives(ULM)])
    agent = ReActAgent("friday", model, tools=[population], max_iters=1)
    message = agent.call("Where?", output_type=City).run()
    assert (message.structured_output, message.generate_reason) == (ULM, "MAX_ITERATIONS")
    assert offered(model)[1] == (["generate_response"], "generate_response", False)


def test_permissions_do_not_stand_in_the_way_of_the_answer() -> None:
    agent = ReActAgent("friday", ScriptedModel([gives(ULM)]), permission=PermissionContext())
    assert agent.call("Where?", output_type=City).run().structured_output == ULM


def test_the_next_call_is_asked_for_nothing() -> None:
    model = ScriptedModel([gives(ULM), [text("You are welcome.")]])
    agent = ReActAgent("friday", model)
    agent.call("Where?", output_type=City).run()
    message = agent.call("Thanks!").run()
    assert (message.structured_output, model.requests[1].tools) == (None, ())


# ------------------------------------------------------------------------------------------------------------ natively


def json_text(value: str) -> list[Any]:
    return [text(value)]


def test_a_provider_that_keeps_to_a_format_beside_tools_is_told_in_every_call() -> None:
    model = NativeModel([[tool_call("population", {"name": "Ulm"})], json_text('{"name": "Ulm", "people": 126000}')])
    agent = ReActAgent("friday", model, tools=[population], options=ModelOptions(temperature=0))
    message = agent.call("Where?", output_type=City).run()
    assert (message.structured_output, message.generate_reason) == (ULM, "STRUCTURED_OUTPUT")
    assert message.get_text_content() == '{"name": "Ulm", "people": 126000}'
    assert offered(model) == [(["population"], None, True)] * 2
    assert model.requests[0].options.temperature == 0
    output = model.requests[0].options.output
    assert output is not None
    assert (output.name, sorted(output.json_schema["properties"])) == ("City", ["name", "people"])


def test_one_that_cannot_have_both_is_asked_when_the_tools_are_done() -> None:
    turns = [[tool_call("population", {"name": "Ulm"})], json_text("It is Ulm."), json_text('{"name": "Ulm"}')]
    model = NativeModel(turns, OutputSupport.ALONE)
    message = ReActAgent("friday", model, tools=[population]).call("Where?", output_type=City).run()
    assert message.structured_output == {"name": "Ulm", "people": 0}
    assert offered(model) == [(["population"], None, False), (["population"], None, False), ([], None, True)]


def test_an_agent_without_tools_asks_such_a_provider_at_once() -> None:
    model = NativeModel([json_text('{"name": "Ulm"}')], OutputSupport.ALONE)
    message = ReActAgent("friday", model).call("Where?", output_type=City).run()
    assert message.structured(City).name == "Ulm"
    assert offered(model) == [([], None, True)]


@pytest.mark.parametrize("answer", ['```json\n{"name": "Ulm"}\n```', ' {"name": "Ulm"}\n', '```\n{"name": "Ulm"}```'])
def test_an_answer_that_happens_to_be_the_object_is_taken(answer: str) -> None:
    model = NativeModel([json_text(answer)], OutputSupport.ALONE)
    agent = ReActAgent("friday", model, tools=[population])
    assert agent.call("Where?", output_type=City).run().structured(City).name == "Ulm"


@pytest.mark.parametrize(
    "answer", ["", "Ulm", '"Ulm"', "[1]", "null", '{"name": ', '{"people": 1}', '{"name": "\\ud800"}']
)
def test_an_answer_that_is_not_is_told_why_and_asked_for_again(answer: str) -> None:
    model = NativeModel([json_text(answer), [text('{"name": '), finish("length")], json_text('{"name": "Ulm"}')])

    async def main() -> None:
        agent = ReActAgent("friday", model)
        events = [event async for event in agent.stream_events("Where?", output_type=City)]
        (source, first), (_, second) = hints(events)
        assert source == "structured_output"
        assert 'by this schema: {"' in first
        assert second.startswith("Your answer does not fit: ")
        assert events[-1].structured_output == {"name": "Ulm", "people": 0}

    asyncio.run(main())


def test_the_answer_is_what_the_last_turn_said() -> None:
    """What was said before a call, or before a hint, is no part of the object."""
    model = NativeModel([[text("Let me see."), tool_call("population", {"name": "Ulm"})], json_text('{"name": "Ulm"}')])
    agent = ReActAgent("friday", model, tools=[population])
    assert agent.call("Where?", output_type=City).run().structured(City).name == "Ulm"


# --------------------------------------------------------------------------------------------------------- over a pause


def pausing() -> ScriptedModel:
    return ScriptedModel([[tool_call("population", {"name": "Ulm"})], gives(ULM)])


def answer_to(message: Any) -> UserConfirmResultEvent:
    (call,) = [block for block in message.content if block.type == "tool_use"]
    return UserConfirmResultEvent(reply_id=message.id, confirm_results=[ConfirmResult(confirmed=True, tool_call=call)])


@pytest.mark.parametrize("again", [City, None])
@pytest.mark.parametrize("native", [False, True])
def test_it_survives_a_pause_and_a_reload(tmp_path: Path, again: Any, native: bool) -> None:
    def agent(turns: Any) -> tuple[ReActAgent, SqliteStateStore]:
        store = SqliteStateStore(tmp_path / "states.db")
        model = NativeModel(turns) if native else ScriptedModel(turns)
        return ReActAgent("f", model, tools=[population], permission=PermissionContext(), state_store=store), store

    async def main() -> None:
        first, store = agent([[tool_call("population", {"name": "Ulm"})]])
        parked = await first.call("Where?", output_type=City)
        assert (parked.generate_reason, parked.structured_output) == ("PERMISSION_ASKING", None)
        store.close()
        second, store = agent([json_text('{"name": "Ulm", "people": 126000}') if native else gives(ULM)])
        done = await second.call(answer_to(parked), output_type=again)
        assert (done.id, done.structured_output) == (parked.id, ULM)
        assert (await second.get_state()).history[-1] == done
        store.close()

    asyncio.run(main())


def test_a_paused_reply_cannot_be_asked_for_something_else() -> None:
    agent = ReActAgent("f", pausing(), tools=[population], permission=PermissionContext())
    parked = agent.call("Where?", output_type=City).run()
    with pytest.raises(ConfigurationError, match="was asked for 'City', this call asks for 'Point'"):
        agent.call(answer_to(parked), output_type=Point).run()
    assert agent.call(answer_to(parked), output_type=City).run().structured_output == ULM


# ---------------------------------------------------------------------------------------------------------------- types


SCHEMA = {"type": "object", "properties": {"x": {"type": "integer"}}, "required": ["x"], "title": "A point"}


@pytest.mark.parametrize(
    ("output_type", "given", "kept", "name"),
    [
        (City, {"name": "Ulm"}, {"name": "Ulm", "people": 0}, "City"),
        (Point, {"x": "3"}, {"x": 3, "y": 0}, "Point"),
        (Row, {"key": "a"}, {"key": "a"}, "Row"),
        (SCHEMA, {"x": 3, "more": 1}, {"x": 3, "more": 1}, "A_point"),
    ],
)
def test_the_kinds_of_types(output_type: Any, given: Any, kept: Any, name: str) -> None:
    model = NativeModel([[text(__import__("json").dumps(given))]])
    message = ReActAgent("friday", model).call("go", output_type=output_type).run()
    assert message.structured_output == kept
    output = model.requests[0].options.output
    assert output is not None
    assert output.name == name


def test_dataclasses_and_dictionaries_come_back_as_what_they_are() -> None:
    model = ScriptedModel([gives({"x": 1}), gives({"key": "a"})])
    agent = ReActAgent("friday", model)
    assert agent.call("go", output_type=Point).run().structured(Point) == Point(1)
    assert agent.call("go", output_type=Row).run().structured(Row) == {"key": "a"}


class Tree(BaseModel):
    name: str
    children: list[Tree] = []


class Visit(BaseModel):
    on: date = Field(alias="date")
    kind: Literal["short", "long"] = "short"


def test_a_type_that_holds_itself_and_one_with_aliases() -> None:
    model = ScriptedModel([gives({"name": "a", "children": [{"name": "b"}]}), gives({"date": "2026-11-30"})])
    agent = ReActAgent("friday", model)
    tree = agent.call("go", output_type=Tree).run().structured(Tree)
    assert tree == Tree(name="a", children=[Tree(name="b")])
    assert agent.call("go", output_type=Visit).run().structured(Visit).on == date(2026, 11, 30)


class InAndOut(BaseModel):
    name: str = Field(validation_alias="inName", serialization_alias="outName")


class Computed(BaseModel, extra="forbid"):
    a: int

    @computed_field
    def twice(self) -> int:
        return 2 * self.a


class Cents(BaseModel):
    price: int
    more: int = 0

    @field_validator("price")
    @classmethod
    def in_cents(cls, price: int) -> int:
        return 100 * price


class Secret(BaseModel):
    word: SecretStr


class Strict(BaseModel, strict=True):
    on: date
    more: int = 0


@pytest.mark.parametrize("native", [False, True])
@pytest.mark.parametrize(
    ("output_type", "given", "more"),
    [
        (InAndOut, {"inName": "Ulm"}, {}),
        (Computed, {"a": 1}, {}),
        (Cents, {"price": 3}, {}),
        (Secret, {"word": "hunter2"}, {}),
        (Strict, {"on": "2026-11-30"}, {"more": 0}),
    ],
)
def test_l7_what_was_taken_is_what_comes_back(output_type: Any, given: Any, more: Any, native: bool) -> None:
    model = NativeModel([json_text(json.dumps(given))]) if native else ScriptedModel([gives(given)])
    message = ReActAgent("friday", model).call("go", output_type=output_type).run()
    assert message.structured_output == given | more
    assert message.structured(output_type) == output_type.model_validate_json(json.dumps(given))


class Options(BaseModel):
    size: int = 1


@pytest.mark.parametrize("output_type", [Options, {"type": "object"}])
@pytest.mark.parametrize("silence", [[text(" ")], [text("null")], [text("```json\n```")], [finish("refusal")]])
def test_nothing_is_not_the_empty_object(output_type: Any, silence: Any) -> None:
    model = NativeModel([silence, json_text('{"size": 2}')])
    message = ReActAgent("friday", model).call("go", output_type=output_type).run()
    assert message.structured_output == {"size": 2}


def test_at_the_limit_of_iterations_nothing_is_not_the_empty_object_either() -> None:
    model = ScriptedModel([[tool_call("population", {"name": "Ulm"})], gives({"size": 2})])
    agent = ReActAgent("friday", model, tools=[population], max_iters=1)
    assert agent.call("go", output_type=Options).run().structured_output == {"size": 2}


class Broken(BaseModel):
    size: int

    @field_validator("size")
    @classmethod
    def look_up(cls, size: int) -> int:
        raise KeyError("hunter2")


DANGLING = {"type": "object", "properties": {"a": {"$ref": "#/$defs/nothing"}}}


@pytest.mark.parametrize("output_type", [Broken, DANGLING])
@pytest.mark.parametrize("native", [False, True])
def test_l8_a_type_that_fails_when_it_checks_is_a_typed_error_with_its_cause(output_type: Any, native: bool) -> None:
    given = {"size": 1, "a": 1}
    turns = [json_text(json.dumps(given))] if native else [gives(given), [text("It does not work.")]]
    agent = ReActAgent("friday", NativeModel(turns) if native else ScriptedModel(turns))
    events, failure = run(collect_failing(agent, "go", None, output_type))
    assert isinstance(failure, StructuredOutputError)
    assert failure.__cause__ is not None
    assert "hunter2" not in f"{failure}{events}"


def test_what_a_json_schema_refuses_is_told() -> None:
    model = ScriptedModel([gives({"x": "three"}), gives({"x": 3})])
    message = ReActAgent("friday", model).call("go", output_type=SCHEMA).run()
    first, _ = message.get_content_blocks(ToolResultBlock)
    assert "- x: 'three' is not of type 'integer'" in first.output[0].text


def test_no_json_schema_makes_us_fetch_a_url(monkeypatch: pytest.MonkeyPatch) -> None:
    fetched: list[Any] = []
    monkeypatch.setattr("urllib.request.urlopen", lambda *given, **more: fetched.append(given))
    schema = {"type": "object", "properties": {"x": {"$ref": "http://127.0.0.1/x.json"}}}
    model = ScriptedModel([gives({"x": 3}), [text("no")]])
    _, failure = run(collect_failing(ReActAgent("friday", model), "go", None, schema))
    assert isinstance(failure, StructuredOutputError)
    assert fetched == []


def test_a_validator_of_the_type_counts() -> None:
    class Even(BaseModel):
        number: int

        @field_validator("number")
        @classmethod
        def is_even(cls, number: int) -> int:
            if number % 2:
                raise ValueError("must be even")
            return number

    model = ScriptedModel([gives({"number": 3}), gives({"number": 4})])
    assert ReActAgent("friday", model).call("go", output_type=Even).run().structured(Even).number == 4


@pytest.mark.parametrize(
    "wrong",
    [
        *[int, list[int], str | None, object()],
        *[{"type": "array"}, {"type": "object", "required": 3}, {"type": "object", "title": 5}],
        *[{"$ref": 5}, {"$ref": "#/$defs/X"}, {"$ref": "#/$defs/X", "$defs": 3}],
    ],
)
def test_what_is_no_type_of_an_object_is_refused_at_once(wrong: Any) -> None:
    agent = ReActAgent("friday", ScriptedModel([]))
    with pytest.raises(ConfigurationError, match="output_type"):
        agent.call("go", output_type=wrong)


def test_a_json_schema_needs_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "jsonschema", None)
    monkeypatch.setitem(sys.modules, "jsonschema.exceptions", None)
    with pytest.raises(MissingExtraError, match=r"agentscope-rx\[schema\]"):
        ReActAgent("friday", ScriptedModel([])).call("go", output_type=SCHEMA)


def test_a_call_that_waits_for_a_person_beside_the_answer_is_not_run() -> None:
    """The answer ends the reply; when it comes after the call that waits, it waits too."""
    call = tool_call("population", {"name": "Ulm"})

    def ask(turn: list[Any]) -> tuple[ReActAgent, Any]:
        agent = ReActAgent("f", ScriptedModel([turn]), tools=[population], permission=PermissionContext())
        return agent, agent.call("go", output_type=City).run()

    _, done = ask([*gives(ULM), call])
    assert (done.generate_reason, done.structured_output) == ("STRUCTURED_OUTPUT", ULM)
    assert [(b.name, b.state) for b in done.get_content_blocks(ToolResultBlock)] == [
        ("generate_response", "success"),
        ("population", "error"),
    ]
    agent, parked = ask([call, *gives(ULM)])
    assert (parked.generate_reason, parked.structured_output) == ("PERMISSION_ASKING", None)
    population_call = parked.content[0]
    confirm = ConfirmResult(confirmed=True, tool_call=population_call)
    done = agent.call(UserConfirmResultEvent(reply_id=parked.id, confirm_results=[confirm])).run()
    assert (done.generate_reason, done.structured_output) == ("STRUCTURED_OUTPUT", ULM)


def test_an_answer_that_is_cut_off_is_asked_for_again() -> None:
    model = ScriptedModel([[text("It is Ulm.")], [*gives(ULM), finish("length")], gives(ULM)])
    message = ReActAgent("friday", model).call("Where?", output_type=City).run()
    assert message.structured_output == ULM
    assert [b.state for b in message.get_content_blocks(ToolResultBlock)] == ["error", "success"]


def test_the_tool_of_the_answer_has_a_name_that_is_taken() -> None:
    def generate_response() -> str:
        """Not ours."""
        return ""

    with pytest.raises(ToolError, match="two tools are named 'generate_response'"):
        ReActAgent("friday", ScriptedModel([]), tools=[generate_response]).call("go", output_type=City).run()
