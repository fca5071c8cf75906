"""The rules themselves: each one sees a request that breaks it."""

from __future__ import annotations

from typing import Any

import pytest

from .rules import (
    ANTHROPIC,
    CHAT,
    DASHSCOPE,
    DASHSCOPE_MULTIMODAL,
    GEMINI,
    GEMINI_2,
    OLLAMA,
    RESPONSES,
    Rule,
    violations,
)

TEXT = {"type": "text", "text": "t"}
CALL = {"type": "tool_use", "id": "a", "name": "f", "input": {}}
RESULT = {"type": "tool_result", "tool_use_id": "a"}
THOUGHT = {"type": "thinking", "thinking": "", "signature": "s"}
SEARCH = {"type": "server_tool_use", "id": "s"}
TOOLS = [{"name": "f"}]


def said(*content: Any, role: str = "assistant") -> dict[str, Any]:
    return {"role": role, "content": list(content)}


def told(*content: Any) -> dict[str, Any]:
    return said(*content, role="user")


def messages(*messages: Any, **more: Any) -> dict[str, Any]:
    return {"max_tokens": 2048, "messages": list(messages), "tools": TOOLS, **more}


BROKEN_MESSAGES: dict[str, list[dict[str, Any]]] = {
    "a_limit_is_given": [messages(max_tokens=0), messages(max_tokens=None)],
    "messages_alternate_and_are_not_empty": [
        messages(told(TEXT), told(TEXT)),
        messages(told()),
        messages(said(role="x")),
    ],
    "text_is_not_blank": [messages(told({"type": "text", "text": " "})), messages(told(TEXT), system="")],
    "the_last_words_of_the_assistant_do_not_end_in_white_space": [messages(said({"type": "text", "text": "a "}))],
    "calls_are_named_and_have_an_object_as_input": [
        messages(said({**CALL, **wrong}), told(RESULT)) for wrong in ({"id": "~"}, {"name": ""}, {"input": "{}"})
    ],
    "ids_of_calls_are_unique": [messages(said(CALL), told(RESULT), said(CALL), told(RESULT))],
    "every_call_is_answered_first_thing_in_the_next_message": [
        messages(said(CALL)),
        messages(said(CALL), told(TEXT)),
        messages(said(CALL), told(TEXT, RESULT)),
        messages(said(TEXT), told(RESULT)),
        messages(said(CALL), told(RESULT, RESULT)),
    ],
    "what_failed_is_told_in_text": [
        messages(said(CALL), told({**RESULT, "is_error": True})),
        messages(said(CALL), told({**RESULT, "is_error": True, "content": [{"type": "image"}]})),
    ],
    "no_message_of_the_assistant_ends_in_a_thought": [messages(said(TEXT, THOUGHT))],
    "thoughts_are_proven": [messages(said({**THOUGHT, "signature": ""}, TEXT))],
    "the_providers_own_work_is_whole": [
        messages(said(SEARCH, TEXT), told(TEXT)),
        messages(said({"type": "web_search_tool_result", "tool_use_id": "s"})),
    ],
    "thinking_leaves_room_and_is_free": [
        messages(thinking={"type": "enabled", "budget_tokens": 2048}),
        messages(thinking={"type": "enabled", "budget_tokens": 1023}),
        messages(thinking={"type": "adaptive"}, tool_choice={"type": "any"}),
    ],
    "who_thinks_has_thought_before_calls_that_are_being_answered": [
        messages(said(CALL), told(RESULT), thinking={"type": "enabled", "budget_tokens": 1024})
    ],
    "a_history_with_calls_declares_tools": [
        messages(said(CALL), told(RESULT), tools=[]),
        messages(tool_choice={"type": "tool", "name": "g"}),
    ],
}

FUNCTION = {"type": "function_call", "call_id": "a", "name": "f", "arguments": "{}"}
OUTPUT = {"type": "function_call_output", "call_id": "a", "output": ""}
REASONING = {"type": "reasoning", "id": "rs", "summary": [], "encrypted_content": "e"}
MESSAGE = {"type": "message", "role": "assistant", "id": "m", "content": [{"type": "output_text", "text": "t"}]}


def responses(*items: Any, **more: Any) -> dict[str, Any]:
    return {"input": list(items), "store": False, **more}


BROKEN_RESPONSES: dict[str, list[dict[str, Any]]] = {
    "items_say_something": [responses({**MESSAGE, "content": []}), responses({**MESSAGE, "role": "tool"})],
    "users_and_assistants_have_parts_of_their_own": [responses({**MESSAGE, "role": "user"})],
    "function_calls_are_named_and_have_an_object_as_arguments": [
        responses({**FUNCTION, **wrong}, OUTPUT) for wrong in ({"call_id": ""}, {"name": "f.g"}, {"arguments": "[]"})
    ],
    "every_function_call_has_one_output_after_it": [
        responses(FUNCTION),
        responses(OUTPUT, FUNCTION),
        responses(FUNCTION, OUTPUT, FUNCTION, OUTPUT),
    ],
    "calls_to_work_of_the_provider_have_an_output": [responses({"type": "shell_call", "call_id": "s"})],
    "reasoning_is_readable": [responses({**REASONING, "encrypted_content": ""}, MESSAGE)],
    "reasoning_is_followed_by_what_it_led_to": [
        responses(REASONING),
        responses(REASONING, {**MESSAGE, "id": None}),
        responses(REASONING, {"type": "message", "role": "user", "content": "t"}),
    ],
    "no_item_comes_twice": [responses(MESSAGE, MESSAGE)],
    "a_tool_choice_is_one_of_the_tools": [
        responses(tool_choice="required"),
        responses(tools=[{"name": "f"}], tool_choice={"type": "function", "name": "g"}),
    ],
}

CHAT_CALL = {"id": "a", "function": {"name": "f", "arguments": "{}"}}


def chat(*messages: Any) -> dict[str, Any]:
    return {"messages": list(messages)}


BROKEN_CHAT: dict[str, list[dict[str, Any]]] = {
    "chat_messages_say_something": [chat({"role": "user", "content": ""})],
    "chat_calls_have_an_object_as_arguments": [
        chat({"role": "assistant", "content": None, "tool_calls": [{"id": "a", "function": {"arguments": "[]"}}]})
    ],
    "chat_calls_are_answered_at_once_and_in_order": [
        chat({"role": "assistant", "content": None, "tool_calls": [CHAT_CALL]}),
        chat({"role": "tool", "tool_call_id": "a", "content": ""}),
        chat({"role": "assistant", "content": None, "tool_calls": [CHAT_CALL]}, {"role": "user", "content": "t"}),
    ],
}

SAYS = {"text": "t"}
ASKS = {"functionCall": {"name": "f", "args": {}}, "thoughtSignature": "dDE="}
ANSWERS = {"functionResponse": {"name": "f", "response": {"output": "o"}}}
THINKS = {"text": "t", "thought": True}
FUNCTIONS = [{"functionDeclarations": [{"name": "f"}]}]


def gemini(*parts: Any, **more: Any) -> dict[str, Any]:
    """A conversation: each argument is the list of parts of one content, the user's first."""
    contents = [{"role": ("user", "model")[n % 2], "parts": list(said)} for n, said in enumerate(parts)]
    return {"contents": contents, "tools": FUNCTIONS, **more}


def asked(**call: Any) -> dict[str, Any]:
    return {**ASKS, "functionCall": {**ASKS["functionCall"], **call}}


def declared(**function: Any) -> dict[str, Any]:
    return gemini([SAYS], tools=[{"functionDeclarations": [{"name": "f", **function}]}])


def takes(**schema: Any) -> dict[str, Any]:
    return declared(parametersJsonSchema={"properties": {"p": {"anyOf": [{"items": schema}]}}})


BROKEN_GEMINI: dict[str, list[dict[str, Any]]] = {
    "contents_alternate_and_the_user_has_the_first_and_the_last_word": [
        gemini(),
        gemini([SAYS], [SAYS]),
        gemini([SAYS], [], [SAYS]),
        {"contents": [{"role": "model", "parts": [SAYS]}]},
        {"contents": [{"role": "user", "parts": [SAYS]}] * 3},
    ],
    "a_part_says_one_thing_and_in_the_right_place": [
        gemini([{}]),
        gemini([{"thoughtSignature": "dDE="}]),
        gemini([{**SAYS, **ANSWERS}]),
        gemini([ASKS]),
        gemini([THINKS]),
        gemini([SAYS], [ANSWERS], [SAYS]),
        gemini([SAYS], systemInstruction={"parts": [{"inlineData": {}}]}),
    ],
    "no_content_is_nothing_but_thoughts": [gemini([SAYS], [THINKS], [SAYS])],
    "functions_are_named_and_have_an_object_as_arguments": [
        *(gemini([SAYS], [asked(**wrong)], [ANSWERS]) for wrong in ({"name": ""}, {"name": "2"}, {"args": "{}"})),
        declared(name="a b"),
    ],
    "every_function_call_is_answered_first_thing_in_the_next_content": [
        gemini([SAYS], [ASKS], [SAYS]),
        gemini([SAYS], [ASKS], [SAYS, ANSWERS]),
        gemini([SAYS], [ASKS, ASKS], [ANSWERS]),
        gemini([SAYS], [SAYS], [ANSWERS]),
        gemini([ANSWERS]),
        gemini([SAYS], [asked(name="g")], [ANSWERS]),
        gemini([SAYS], [asked(id="a")], [ANSWERS]),
        gemini([SAYS], [ASKS], [{"functionResponse": {**ANSWERS["functionResponse"], "id": "a"}}]),
        gemini([SAYS], [asked(id="a")] * 2, [{"functionResponse": {**ANSWERS["functionResponse"], "id": "a"}}] * 2),
    ],
    "results_of_functions_are_objects": [
        gemini([{"functionResponse": {"name": "f", "response": response}}]) for response in ("o", {"result": "o"})
    ],
    "proofs_are_base64": [gemini([SAYS], [{**SAYS, "thoughtSignature": proof}], [SAYS]) for proof in ("", "s", "a b=")],
    "work_of_the_provider_has_come_to_something": [
        gemini([SAYS], [{"executableCode": {}}], [SAYS]),
        gemini([SAYS], [{"codeExecutionResult": {}}], [SAYS]),
        gemini([SAYS], [{"toolCall": {"id": "a"}}, {"toolResponse": {"id": "b"}}], [SAYS]),
    ],
    "functions_that_were_called_are_declared": [gemini([SAYS], [ASKS], [ANSWERS], tools=[{"googleSearch": {}}])],
    "calling_is_of_declared_functions": [
        gemini([SAYS], toolConfig={"functionCallingConfig": {"mode": "ANY"}}, tools=[]),
        gemini([SAYS], toolConfig={"functionCallingConfig": {"mode": "any"}}),
        gemini([SAYS], toolConfig={"functionCallingConfig": {"mode": "ANY", "allowedFunctionNames": ["g"]}}),
        gemini([SAYS], toolConfig={"functionCallingConfig": {"mode": "AUTO", "allowedFunctionNames": ["f"]}}),
    ],
    "schemas_are_of_known_words": [
        declared(parameters={"type": "object"}),
        takes(const=1),
        takes(**{"$ref": "#/$defs/X", "type": "object"}),
        declared(parametersJsonSchema={"$defs": {"X": {"title": "X"}}}),
    ],
    "thinking_is_told_in_one_way": [
        gemini([SAYS], generationConfig={"thinkingConfig": {"thinkingBudget": 1, "thinkingLevel": "LOW"}})
    ],
    "the_first_call_of_a_content_is_proven": [
        gemini([SAYS], [{"functionCall": ASKS["functionCall"]}, ASKS], [ANSWERS, ANSWERS])
    ],
    "results_of_functions_hold_no_media": [gemini([{"functionResponse": {"name": "f", "response": {}, "parts": []}}])],
}

OLLAMA_CALL = {"function": {"name": "f", "arguments": {}}}
OLLAMA_RESULT = {"role": "tool", "content": "", "tool_name": "f"}


def ollama_calls(*calls: Any) -> dict[str, Any]:
    return {"role": "assistant", "content": "", "tool_calls": list(calls)}


BROKEN_OLLAMA: dict[str, list[dict[str, Any]]] = {
    "messages_have_a_role_and_say_something": [
        chat({"role": role, "content": content})
        for role, content in (("user", ""), ("assistant", None), ("function", "t"), ("user", [{"text": "t"}]))
    ],
    "images_are_base64": [chat({"role": "user", "content": "", "images": ["data:image/png;base64,aGk="]})],
    "calls_are_named_and_have_an_object_as_arguments": [
        chat(ollama_calls({"function": {"name": name, "arguments": arguments}}), OLLAMA_RESULT)
        for name, arguments in (("f", "{}"), ("f", []), (None, {}))
    ],
    "calls_are_answered_at_once_and_in_order": [
        chat(ollama_calls(OLLAMA_CALL)),
        chat(OLLAMA_RESULT),
        chat(ollama_calls(OLLAMA_CALL), {"role": "user", "content": "t"}, OLLAMA_RESULT),
        chat(ollama_calls(OLLAMA_CALL), {**OLLAMA_RESULT, "tool_name": "g"}),
        chat(ollama_calls({**OLLAMA_CALL, "id": "a"}), OLLAMA_RESULT),
    ],
    "nothing_is_asked_that_the_server_does_not_know": [{**chat(), "tool_choice": "auto"}],
}

QWEN_CALL = {"id": "a", "type": "function", "function": {"name": "f", "arguments": "{}"}}
QWEN_RESULT = {"role": "tool", "tool_call_id": "a", "content": ""}
QWEN_USER = {"role": "user", "content": "t"}


def qwen_calls(*calls: Any) -> dict[str, Any]:
    return {"role": "assistant", "content": "", "tool_calls": list(calls)}


def qwen(*messages: Any, **parameters: Any) -> dict[str, Any]:
    asked = {"result_format": "message", "incremental_output": True, "tools": [{"function": {"name": "f"}}]}
    return {"input": {"messages": list(messages)}, "parameters": {**asked, **parameters}}


BROKEN_DASHSCOPE: dict[str, list[dict[str, Any]]] = {
    "who_speaks_is_known_and_says_something": [
        qwen({"role": role, "content": content}) for role, content in (("developer", "t"), ("user", ""), ("user", []))
    ],
    "the_system_speaks_first_and_once": [
        qwen(*told, {"role": "system", "content": "t"}) for told in ([QWEN_USER], [{"role": "system", "content": "t"}])
    ],
    "the_last_word_is_not_the_assistants_unless_it_goes_on": [
        qwen({"role": "assistant", "content": "t"}),
        qwen({**qwen_calls(QWEN_CALL), "partial": True}),
        qwen({"role": "assistant", "content": "t", "partial": True}, QWEN_USER),
    ],
    "calls_are_functions_with_an_object_of_json_as_arguments": [
        *(qwen(qwen_calls({**QWEN_CALL, **wrong})) for wrong in ({"id": ""}, {"type": "tool"})),
        *(
            qwen(qwen_calls({**QWEN_CALL, "function": {**QWEN_CALL["function"], **wrong}}))
            for wrong in ({"name": "f.g"}, {"arguments": "[]"})
        ),
    ],
    "every_call_has_one_result_before_anybody_else_speaks": [
        qwen(qwen_calls(QWEN_CALL)),
        qwen(QWEN_RESULT),
        qwen(qwen_calls(QWEN_CALL), QWEN_USER, QWEN_RESULT),
        qwen(qwen_calls(QWEN_CALL), QWEN_RESULT, QWEN_RESULT),
        qwen(*[qwen_calls(QWEN_CALL), QWEN_RESULT] * 2),
    ],
    "calls_go_with_the_tools_in_both_requests": [
        qwen(qwen_calls(QWEN_CALL), QWEN_RESULT, tools=[]),
        qwen(QWEN_USER, tool_choice="required"),
        qwen(QWEN_USER, tool_choice={"type": "function", "function": {"name": "g"}}),
    ],
    "what_comes_is_asked_for_in_the_form_that_thinking_needs": [
        qwen(QWEN_USER, result_format="text"),
        qwen(QWEN_USER, enable_thinking=True, incremental_output=False),
    ],
    "the_content_of_a_message_is_a_text": [qwen({"role": "user", "content": [{"text": "t"}]})],
    "the_content_of_a_message_is_a_list_of_parts": [
        qwen(QWEN_USER),
        qwen({"role": "assistant", "content": []}),
        qwen({"role": "user", "content": [{"type": "text", "text": "t"}]}),
        qwen({"role": "user", "content": [{"file": "t"}]}),
        qwen({**QWEN_RESULT, "content": [{"text": "t"}]}),
    ],
}


@pytest.mark.parametrize(
    ("rule", "broken"),
    [
        pytest.param(rule, body, id=f"{rule.__name__} {number}")
        for rules, broken in (
            (ANTHROPIC, BROKEN_MESSAGES),
            (RESPONSES, BROKEN_RESPONSES),
            (CHAT, BROKEN_CHAT),
            (dict.fromkeys((*GEMINI, *GEMINI_2)), BROKEN_GEMINI),
            (OLLAMA, BROKEN_OLLAMA),
            (dict.fromkeys((*DASHSCOPE, *DASHSCOPE_MULTIMODAL)), BROKEN_DASHSCOPE),
        )
        for rule in rules
        for number, body in enumerate(broken[rule.__name__])
    ],
)
def test_a_rule_sees_what_breaks_it(rule: Rule, broken: dict[str, Any]) -> None:
    assert violations((rule,), broken)


def test_what_breaks_no_rule_is_accepted() -> None:
    body = messages(told(TEXT), said(THOUGHT, CALL), told(RESULT, TEXT), said(TEXT))
    assert violations(ANTHROPIC, body) == []
    assert violations(ANTHROPIC, messages(told(TEXT), said(TEXT, SEARCH))) == []
    assert violations(RESPONSES, responses(REASONING, MESSAGE, FUNCTION, OUTPUT)) == []
    proven = [THINKS, {**SAYS, "thoughtSignature": "dDE="}, ASKS, {"functionCall": ASKS["functionCall"]}]
    for rules in (GEMINI, GEMINI_2):
        assert violations(rules, gemini([SAYS], proven, [ANSWERS, ANSWERS, SAYS])) == []
    asks = {"role": "assistant", "content": "", "tool_calls": [OLLAMA_CALL, {**OLLAMA_CALL, "id": "a"}]}
    assert violations(OLLAMA, chat(asks, OLLAMA_RESULT, {**OLLAMA_RESULT, "tool_call_id": "a"})) == []
    qwen_said = [qwen_calls(QWEN_CALL, {**QWEN_CALL, "id": "b"}), {**QWEN_RESULT, "tool_call_id": "b"}, QWEN_RESULT]
    assert violations(DASHSCOPE, qwen(QWEN_USER, *qwen_said, enable_thinking=True)) == []
    shown = {"role": "user", "content": [{"text": "t"}, {"image": "u"}]}
    assert violations(DASHSCOPE_MULTIMODAL, qwen(shown, {**shown, "role": "assistant", "partial": True})) == []
