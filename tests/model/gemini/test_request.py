from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, strategies as st

from agentscope_rx.errors import ConfigurationError, UnsupportedContentError
from agentscope_rx.message import (
    AssistantMessage,
    AudioBlock,
    Base64Source,
    ContentBlock,
    DataBlock,
    HintBlock,
    ImageBlock,
    Msg,
    SystemMessage,
    TextBlock,
    ThinkingBlock,
    ToolResultState,
    ToolUseBlock,
    URLSource,
    UserMessage,
)
from agentscope_rx.model import ModelOptions, ModelRequest, OutputFormat, OutputSupport, ToolSchema
from agentscope_rx.model.gemini import encode_request
from agentscope_rx.model.native import native
from agentscope_rx.model.profiles import GEMINI as GEMINI_PROFILE

from ..histories import ASK, HISTORIES, PNG, ZIP, random_histories, result, use
from ..rules import GEMINI, GEMINI_2, violations

CLOCK = ToolSchema("clock", "The time.", {"type": "object", "properties": {}})
WEATHER = ToolSchema(
    "get_weather", "The weather of a city.", {"type": "object", "properties": {"city": {"type": "string"}}}
)
OPTIONS = [ModelOptions(), ModelOptions(reasoning_effort="high"), ModelOptions(tool_choice="required", max_tokens=9)]
RULES = {"gemini-2.5-flash": GEMINI_2, "gemini-3-pro-preview": GEMINI}
UNCHECKED = "skip_thought_signature_validator"
BEGIN, GO_ON = {"text": "Begin."}, {"text": "Go on."}


def encode(*conversation: Msg, model: str = "gemini-2.5-flash", tools: Any = (), **options: Any) -> dict[str, Any]:
    encoded = encode_request(model, ModelRequest(conversation, tools, ModelOptions(**options)))
    assert violations(RULES[model], encoded) == []
    return encoded


def contents(*conversation: Msg, model: str = "gemini-2.5-flash") -> list[dict[str, Any]]:
    encoded: list[dict[str, Any]] = encode(*conversation, model=model)["contents"]
    return encoded


def body(**settings: Any) -> dict[str, Any]:
    encoded = encode(UserMessage("hi"), **settings)
    assert encoded.pop("contents") == [user(text("hi"))]
    return encoded


def user(*parts: Any) -> dict[str, Any]:
    return {"role": "user", "parts": list(parts)}


def model(*parts: Any) -> dict[str, Any]:
    return {"role": "model", "parts": list(parts)}


def text(text: str, **more: Any) -> dict[str, Any]:
    return {"text": text, **more}


def call(name: str = "f", proof: str | None = None, **arguments: Any) -> dict[str, Any]:
    return {"functionCall": {"name": name, "args": arguments}, **({"thoughtSignature": proof} if proof else {})}


def output(output: str, name: str = "f", **more: Any) -> dict[str, Any]:
    return {"functionResponse": {"name": name, "response": {"output": output}, **more}}


def own(**part: Any) -> ThinkingBlock:
    """The provider's own work."""
    return ThinkingBlock("", metadata=native("gemini", part=part))


def thought(text: str, signature: str | None = None) -> ThinkingBlock:
    """What Gemini thought."""
    return ThinkingBlock(text, signature=signature, metadata=native("gemini", part={"thought": True}))


IMAGE = {"inlineData": {"mimeType": "image/png", "data": "aGk="}}

# --- every history --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("options", OPTIONS, ids=str)
@pytest.mark.parametrize("tools", [(), (CLOCK, WEATHER)], ids=["no tools", "tools"])
@pytest.mark.parametrize("model", RULES)
@pytest.mark.parametrize("name", HISTORIES)
def test_whatever_happened_the_api_accepts_it(name: str, model: str, tools: Any, options: ModelOptions) -> None:
    encoded = encode_request(model, ModelRequest(HISTORIES[name], tools, options))
    assert violations(RULES[model], encoded) == []


CODE = {"executableCode": {"language": "PYTHON", "code": "1"}}
RESULT = {"codeExecutionResult": {"outcome": "OUTCOME_OK", "output": "1"}}
WORK = st.one_of(
    st.just(own(**CODE)),
    st.just(own(**RESULT)),
    st.builds(lambda id: own(toolCall={"id": id}), st.sampled_from("st")),
    st.builds(lambda id: own(toolResponse={"id": id}), st.sampled_from("st")),
    st.just(own(text="", thoughtSignature="dDE=")),
    st.just(own(executableCode="odd")),
    st.builds(thought, st.sampled_from(["", "hm"]), st.sampled_from([None, "dDE=", "no base64"])),
    st.just(TextBlock("ab", metadata=native("gemini", text={"parts": [{"length": 1, "thoughtSignature": "dDE="}]}))),
    st.just(DataBlock(PNG.source, metadata=native("gemini", part={"inlineData": {"mimeType": "image/png"}}))),
)


@given(
    random_histories(WORK), st.sampled_from(sorted(RULES)), st.sampled_from([(), (CLOCK,)]), st.sampled_from(OPTIONS)
)
def test_whatever_may_ever_happen_the_api_accepts_it(
    history: list[Msg], model: str, tools: Any, options: ModelOptions
) -> None:
    encoded = encode_request(model, ModelRequest(history, tools, options))
    assert violations(RULES[model], encoded) == []


# --- one reply, many contents ---------------------------------------------------------------------------------------


def test_one_reply_becomes_the_contents_that_the_protocol_accepts() -> None:
    reply = AssistantMessage(
        thought("I need it."),
        TextBlock("Let me look."),
        use("a", "get_weather", '{"city":"Paris"}', input={"city": "Paris"}, signature="dDE="),
        use("b", "clock"),
        result("b", "noon"),
        result("a", "rain"),
        HintBlock(hint="Be brief."),
        use("c", "clock", signature="dDI="),
        result("c", "one"),
        thought("Now.", "dDM="),
        TextBlock("Rain."),
    )
    encoded = encode(
        SystemMessage("Help."), SystemMessage("Much."), UserMessage("Weather?"), reply, UserMessage("Thanks")
    )
    assert encoded["systemInstruction"] == {"parts": [text("Help."), text("Much.")]}
    assert encoded["contents"] == [
        user(text("Weather?")),
        model(
            text("I need it.", thought=True), text("Let me look."),
            call("get_weather", "dDE=", city="Paris"), call("clock"),
        ),
        user(output("rain", "get_weather"), output("noon", "clock"), text("Be brief.")),
        model(call("clock", "dDI=")),
        user(output("one", "clock")),
        model(text("Now.", thought=True, thoughtSignature="dDM="), text("Rain.")),
        user(text("Thanks")),
    ]  # fmt: skip


def test_the_user_has_the_first_and_the_last_word() -> None:
    assert contents() == [user(BEGIN)]
    assert contents(AssistantMessage(TextBlock("Hello."))) == [user(BEGIN), model(text("Hello.")), user(GO_ON)]
    hinted = AssistantMessage(TextBlock("a"), HintBlock(hint="h"))
    assert contents(UserMessage("1"), UserMessage("2"), hinted, UserMessage("3")) == [
        user(text("1"), text("2")),
        model(text("a")),
        user(text("h"), text("3")),
    ]


def test_a_content_of_nothing_but_thoughts_is_left_out() -> None:
    assert contents(ASK, AssistantMessage(thought("hm")), UserMessage("Well?")) == [
        user(text("What is the weather?"), text("Well?"))
    ]


def test_thinking_that_nobody_knows_to_be_geminis_is_left_out() -> None:
    assert contents(*HISTORIES["thoughts of nobody known"])[1] == model(text("t"))
    assert contents(*HISTORIES["thoughts of somebody else"])[1] == model(text("t"), call())


def test_b4_51_results_go_out_in_the_order_of_the_calls() -> None:
    slow, fast = use("a", "slow"), use("b", "fast")
    assert contents(ASK, AssistantMessage(slow, fast, result("b", "2"), result("a", "1")))[2] == user(
        output("1", "slow"), output("2", "fast")
    )


def test_a_failed_call_says_why() -> None:
    reply = AssistantMessage(
        use("a"), result("a", "no such city", state=ToolResultState.ERROR),
        use("b"), result("b", state=ToolResultState.DENIED),
    )  # fmt: skip
    answers = [part for content in contents(ASK, reply) for part in content["parts"] if "functionResponse" in part]
    assert [answer["functionResponse"]["response"] for answer in answers] == [
        {"error": "no such city"},
        {"error": "The call gave no reason."},
    ]


@pytest.mark.parametrize(
    ("name", "sent"),
    [("a.b:c-d_1", "a.b:c-d_1"), ("", "unknown"), ("2fa", "_2fa"), ("-x", "_-x"), ("é b", "__b"), ("x" * 99, "x" * 64)],
)
def test_a_name_that_no_function_may_have_is_made_one(name: str, sent: str) -> None:
    encoded = contents(ASK, AssistantMessage(use("a", name), result("a", "1", name=name)))
    assert encoded[1:] == [model(call(sent)), user(output("1", sent))]


# --- ids and proofs -------------------------------------------------------------------------------------------------


def test_only_the_ids_that_gemini_gave_are_told_to_it() -> None:
    ours = use("call_1~2", metadata=native("gemini", part={"functionCall": {"id": "call_1"}}))
    foreign = use("b", metadata=native("openai", item={"id": "fc"}))
    said, told = contents(ASK, AssistantMessage(ours, foreign, result("b", "2"), result("call_1~2", "1")))[1:]
    assert [part["functionCall"].get("id") for part in said["parts"]] == ["call_1", None]
    assert [part["functionResponse"].get("id") for part in told["parts"]] == ["call_1", None]


def _first_call(model: str, *blocks: ContentBlock) -> str | None:
    said = contents(ASK, AssistantMessage(*blocks), model=model)[1]
    proofs = [part.get("thoughtSignature") for part in said["parts"] if "functionCall" in part]
    assert not any(proofs[1:])
    proof: str | None = proofs[0]
    return proof


@pytest.mark.parametrize(
    ("block", "proof"),
    [
        (use("a", signature="dDE="), "dDE="),
        (use("a", signature="dDE=", metadata=native("gemini", part={"functionCall": {}})), "dDE="),
        (use("a", signature="dDE=", metadata=native("somebody")), None),
        (use("a", signature="no base64"), None),
        (use("a", signature="-_8"), "-_8"),
        (use("a"), None),
    ],
)
def test_the_first_call_needs_a_proof_where_the_model_checks_it(block: ToolUseBlock, proof: str | None) -> None:
    assert _first_call("gemini-2.5-flash", block, use("b")) == proof
    assert _first_call("gemini-3-pro-preview", block, use("b")) == (proof or UNCHECKED)


@pytest.mark.parametrize(
    ("name", "checks"),
    [
        ("gemini-2.0-flash", False),
        ("gemini-2.5-pro", False),
        ("google/gemini-2.5-flash-lite", False),
        ("gemini-1.5-pro", False),
        ("gemma-3-27b-it", False),
        ("gemini-3-pro-preview", True),
        ("gemini-3.5-flash", True),
        ("gemini-10-pro", True),
        ("gemini-flash-latest", True),
        ("smollm2", False),
    ],
)
def test_the_generation_decides_what_a_model_is_told_and_how(name: str, checks: bool) -> None:
    request = ModelRequest([ASK, AssistantMessage(use("a"))], (), ModelOptions(reasoning_effort="low"))
    encoded = encode_request(name, request)
    assert ("thoughtSignature" in encoded["contents"][1]["parts"][0]) == checks
    thinking = {"thinkingLevel": "LOW"} if checks else {"thinkingBudget": 1024}
    assert encoded["generationConfig"]["thinkingConfig"] == {"includeThoughts": True, **thinking}


def test_text_that_has_been_rewritten_is_sent_whole() -> None:
    stretches = {"parts": [{"length": 4}, {"length": 6, "thoughtSignature": "dDE="}]}
    for rewritten in ("It", "It rain", "It rains, they say"):
        block = TextBlock(rewritten, metadata=native("gemini", text=stretches))
        said = contents(ASK, AssistantMessage(block))[1]["parts"]
        assert "".join(part["text"] for part in said) == rewritten
        assert [part["thoughtSignature"] for part in said if "thoughtSignature" in part] == ["dDE="]


# --- the provider's own work ----------------------------------------------------------------------------------------


def test_the_providers_own_work_is_sent_back_as_it_came_and_in_its_place() -> None:
    reply = AssistantMessage(TextBlock("Let me see."), own(**CODE), own(**RESULT), own(**RESULT), TextBlock("1"))
    assert contents(ASK, reply)[1] == model(text("Let me see."), CODE, RESULT, RESULT, text("1"))


@pytest.mark.parametrize(
    ("work", "left"),
    [
        ([CODE], []),
        ([RESULT], []),
        ([RESULT, CODE], []),
        ([CODE, RESULT, CODE], [CODE, RESULT]),
        ([{"toolCall": {"id": "s"}}, {"toolCall": {"id": "t"}}, {"toolResponse": {"id": "t"}}],
         [{"toolCall": {"id": "t"}}, {"toolResponse": {"id": "t"}}]),
    ],
)  # fmt: skip
def test_work_that_was_cut_off_is_left_out(work: list[dict[str, Any]], left: list[dict[str, Any]]) -> None:
    reply = AssistantMessage(TextBlock("t"), *(own(**part) for part in work))
    assert contents(ASK, reply)[1] == model(text("t"), *left)


# --- content --------------------------------------------------------------------------------------------------------


def inline(media_type: str) -> dict[str, Any]:
    return {"inlineData": {"mimeType": media_type, "data": "aGk="}}


def by_url(url: str, **more: str) -> dict[str, Any]:
    return {"fileData": {**more, "fileUri": url}}


@pytest.mark.parametrize(
    ("block", "part"),
    [
        (PNG, IMAGE),
        (ImageBlock(source=Base64Source(media_type="image/jpg", data="aGk=")), inline("image/jpeg")),
        (AudioBlock(source=Base64Source(media_type="audio/x-wav", data="aGk=")), inline("audio/wav")),
        (DataBlock(Base64Source(media_type="video/mp4; codecs=avc1", data="aGk=")), inline("video/mp4")),
        (DataBlock(Base64Source(media_type="application/pdf", data="aGk="), name="a.pdf"), inline("application/pdf")),
        (DataBlock(Base64Source(media_type="text/csv", data="aGk=")), inline("text/csv")),
        (DataBlock(URLSource(url="https://x.org/a")), by_url("https://x.org/a")),
        (DataBlock(URLSource(url="https://x.org/a.mp4")), by_url("https://x.org/a.mp4", mimeType="video/mp4")),
        (AudioBlock(source=URLSource(url="https://x.org/a")), by_url("https://x.org/a")),
    ],
)
def test_media_of_a_user(block: ContentBlock, part: dict[str, Any]) -> None:
    assert contents(UserMessage(TextBlock("look"), block)) == [user(text("look"), part)]


@pytest.mark.parametrize(
    "block",
    [
        ZIP,
        DataBlock(Base64Source(media_type="image/gif", data="aGk=")),
        DataBlock(URLSource(url="https://x.org/a.tiff")),
    ],
)
def test_media_that_the_protocol_cannot_carry(block: ContentBlock) -> None:
    with pytest.raises(UnsupportedContentError, match=r"HEIF images, sound, video, .*\. Nothing was sent"):
        encode(UserMessage(block))


SOUND = DataBlock(Base64Source(media_type="audio/wav", data="aGk="))


def test_results_show_pictures_beside_them_or_within_as_the_model_can_see_them() -> None:
    reply = AssistantMessage(
        use("a"), use("b", "g"), result("a"), result("b", "see", PNG, ZIP, SOUND, name="g")
    )  # fmt: skip
    said = "see\n[application/zip: cannot be shown here]"
    assert contents(ASK, reply)[2] == user(
        output(""), output(said, "g"), text("Output of g:"), IMAGE, inline("audio/wav")
    )
    assert contents(ASK, reply, model="gemini-3-pro-preview")[2] == user(
        output(""), output(said, "g", parts=[IMAGE]), text("Output of g:"), inline("audio/wav")
    )


def test_a_picture_that_another_model_made_is_shown_by_the_user() -> None:
    assert contents(ASK, AssistantMessage(TextBlock("Here:"), PNG))[1:] == [
        model(text("Here:")),
        user(text("Output of the assistant:"), IMAGE),
    ]


# --- options and tools ----------------------------------------------------------------------------------------------


def test_a_plain_request() -> None:
    assert body() == {}


def test_options_join_the_extra_fields() -> None:
    extra = {
        "generationConfig": {"topK": 1, "temperature": 1.0},
        "toolConfig": {"includeServerSideToolInvocations": True},
        "safetySettings": [],
    }
    assert body(temperature=0.0, max_tokens=9, tools=[CLOCK], tool_choice="auto", extra_body=extra) == {
        "tools": [{"functionDeclarations": [{"name": "clock", "description": "The time."}]}],
        "toolConfig": {"functionCallingConfig": {"mode": "AUTO"}, "includeServerSideToolInvocations": True},
        "generationConfig": {"temperature": 1.0, "maxOutputTokens": 9, "topK": 1},
        "safetySettings": [],
    }
    assert body(extra_body={"generationConfig": {"topK": 1}}) == {"generationConfig": {"topK": 1}}


def test_tools() -> None:
    odd = ToolSchema("odd", "", {"$schema": "s", "properties": {"a": {"const": 1, "title": "A"}}})
    assert body(tools=[WEATHER, odd]) == {
        "tools": [
            {
                "functionDeclarations": [
                    {
                        "name": "get_weather",
                        "description": "The weather of a city.",
                        "parametersJsonSchema": WEATHER.parameters,
                    },
                    {"name": "odd", "description": "", "parametersJsonSchema": {"properties": {"a": {"enum": [1]}}}},
                ]
            }
        ]
    }


def test_a_tool_that_the_provider_runs_joins_those_of_the_agent() -> None:
    tools = body(tools=[CLOCK], extra_body={"tools": [{"googleSearch": {}}]})["tools"]
    assert [list(tool) for tool in tools] == [["functionDeclarations"], ["googleSearch"]]


@pytest.mark.parametrize(
    ("choice", "encoded"),
    [
        ("auto", {"mode": "AUTO"}),
        ("none", {"mode": "NONE"}),
        ("required", {"mode": "ANY"}),
        ("get_weather", {"mode": "ANY", "allowedFunctionNames": ["get_weather"]}),
    ],
)
def test_tool_choices(choice: str, encoded: dict[str, Any]) -> None:
    chosen = body(tools=[CLOCK, WEATHER], tool_choice=choice)
    assert chosen["toolConfig"] == {"functionCallingConfig": encoded}
    assert len(chosen["tools"][0]["functionDeclarations"]) == 2


def test_a_tool_choice_without_tools_is_none_and_one_that_is_no_tool_is_an_error() -> None:
    assert body(tool_choice="required") == {}
    with pytest.raises(ConfigurationError, match=r"'x'.*clock"):
        encode(UserMessage("hi"), tools=[CLOCK], tool_choice="x")


def test_a_history_with_calls_declares_their_functions_even_if_none_may_be_called() -> None:
    encoded = encode(ASK, AssistantMessage(use("a", "clock"), result("a"), use("b", "clock"), result("b")))
    [tools] = encoded["tools"]
    assert [function["name"] for function in tools["functionDeclarations"]] == ["clock"]
    assert encoded["toolConfig"] == {"functionCallingConfig": {"mode": "NONE"}}


@pytest.mark.parametrize(
    ("effort", "budget"), [("none", 0), ("minimal", 1024), ("low", 1024), ("medium", 8192), ("high", 24576)]
)
def test_effort_is_a_budget(effort: str, budget: int) -> None:
    assert body(reasoning_effort=effort) == {
        "generationConfig": {"thinkingConfig": {"includeThoughts": True, "thinkingBudget": budget}}
    }


def test_effort_is_a_level_for_models_that_know_levels() -> None:
    assert body(reasoning_effort="xhigh", model="gemini-3-pro-preview") == {
        "generationConfig": {"thinkingConfig": {"includeThoughts": True, "thinkingLevel": "XHIGH"}}
    }


def test_an_effort_that_has_no_budget() -> None:
    with pytest.raises(ConfigurationError, match="none, minimal, low, medium, high, got 'xhigh'"):
        body(reasoning_effort="xhigh")
    replaced = {"generationConfig": {"thinkingConfig": {"thinkingBudget": 512}}}
    assert body(reasoning_effort="low", extra_body=replaced) == replaced


ANSWER = OutputFormat(
    "answer", {"type": "object", "properties": {"a": {"type": "integer", "title": "A"}}, "title": "X"}
)
FORMAT = {
    "responseMimeType": "application/json",
    "responseJsonSchema": {"type": "object", "properties": {"a": {"type": "integer"}}},
}


def test_what_the_answer_must_be() -> None:
    assert body(output=ANSWER) == {"generationConfig": FORMAT}
    elsewhere = replace(GEMINI_PROFILE, output=OutputSupport.NONE)
    request = ModelRequest([UserMessage("hi")], (), ModelOptions(output=ANSWER))
    assert "generationConfig" not in encode_request("gemini-2.5-flash", request, elsewhere)


@pytest.mark.parametrize(("model", "declares"), [("gemini-2.5-flash", False), ("gemini-3-pro-preview", True)])
def test_an_older_model_takes_either_functions_or_a_format(model: str, declares: bool) -> None:
    request = ModelRequest([ASK, AssistantMessage(use("a"), result("a"))], (), ModelOptions(output=ANSWER))
    encoded = encode_request(model, request)
    assert encoded["generationConfig"] == FORMAT
    assert ("tools" in encoded, "toolConfig" in encoded) == (declares, declares)
