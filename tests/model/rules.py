"""What each provider accepts, as checks on a request: each rule is one that its API refuses a request for."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Any, TypeAlias

Body: TypeAlias = dict[str, Any]
Rule: TypeAlias = Callable[[Body], Iterator[Any]]
"""Yields whatever breaks the rule."""

WORD = re.compile(r"[A-Za-z0-9_-]{1,64}")


def violations(rules: tuple[Rule, ...], body: Body) -> list[str]:
    """Return every breach: the name of the rule and what broke it."""
    json.dumps(body, allow_nan=False)
    return [f"{rule.__name__}: {breach!r}" for rule in rules for breach in rule(body)]


# ----------------------------------------------------------------------------------------------------- Anthropic

THOUGHTS = ("thinking", "redacted_thinking")


def _blocks(body: Body, kind: str | None = None) -> Iterator[dict[str, Any]]:
    for message in body["messages"]:
        for block in message["content"]:
            if kind in (None, block["type"]):
                yield block


def a_limit_is_given(body: Body) -> Iterator[Any]:
    if not (isinstance(body["max_tokens"], int) and body["max_tokens"] > 0):
        yield body["max_tokens"]


def messages_alternate_and_are_not_empty(body: Body) -> Iterator[Any]:
    before = None
    for message in body["messages"]:
        if message["role"] not in ("user", "assistant") or message["role"] == before or not message["content"]:
            yield message
        before = message["role"]


def text_is_not_blank(body: Body) -> Iterator[Any]:
    for block in _blocks(body, "text"):
        if not block["text"].strip():
            yield block
    if "system" in body and not body["system"].strip():
        yield body["system"]


def the_last_words_of_the_assistant_do_not_end_in_white_space(body: Body) -> Iterator[Any]:
    if body["messages"] and body["messages"][-1]["role"] == "assistant":
        last = body["messages"][-1]["content"][-1]
        if last["type"] == "text" and last["text"] != last["text"].rstrip():
            yield last


def calls_are_named_and_have_an_object_as_input(body: Body) -> Iterator[Any]:
    for block in _blocks(body, "tool_use"):
        if not (WORD.fullmatch(block["id"]) and WORD.fullmatch(block["name"]) and isinstance(block["input"], dict)):
            yield block


def ids_of_calls_are_unique(body: Body) -> Iterator[Any]:
    ids = [block["id"] for block in _blocks(body, "tool_use")]
    yield from {id for id in ids if ids.count(id) > 1}


def every_call_is_answered_first_thing_in_the_next_message(body: Body) -> Iterator[Any]:
    messages = [*body["messages"], {"role": "user", "content": []}]
    for message, following in pairwise(messages):
        calls = [b["id"] for b in message["content"] if b["type"] == "tool_use"]
        kinds = [b["type"] for b in following["content"]]
        results = [b["tool_use_id"] for b in following["content"] if b["type"] == "tool_result"]
        if sorted(calls) != sorted(results) or kinds[: len(results)] != ["tool_result"] * len(results):
            yield calls, following


def what_failed_is_told_in_text(body: Body) -> Iterator[Any]:
    for block in _blocks(body, "tool_result"):
        content = block.get("content", [])
        if block.get("is_error") and (not content or any(part["type"] != "text" for part in content)):
            yield block


def no_message_of_the_assistant_ends_in_a_thought(body: Body) -> Iterator[Any]:
    for message in body["messages"]:
        if message["role"] == "assistant" and message["content"][-1]["type"] in THOUGHTS:
            yield message


def thoughts_are_proven(body: Body) -> Iterator[Any]:
    for block in _blocks(body):
        if block["type"] in THOUGHTS and not (block.get("signature") or block.get("data")):
            yield block


def the_providers_own_work_is_whole(body: Body) -> Iterator[Any]:
    """A call without a result may stand in the last message of the assistant alone: the provider goes on with it."""
    calls = {b["id"] for b in _blocks(body) if b["type"] in ("server_tool_use", "mcp_tool_use")}
    results = {b["tool_use_id"] for b in _blocks(body) if b["type"].endswith("_tool_result")}
    last: dict[str, Any] = {"content": ()}
    after: list[Any] = []
    for message in body["messages"]:
        last, after = (message, []) if message["role"] == "assistant" else (last, message["content"])
    going_on = all(block["type"] == "tool_result" for block in after)
    yield from results - calls
    yield from calls - results - {block.get("id") for block in last["content"] if going_on}


def thinking_leaves_room_and_is_free(body: Body) -> Iterator[Any]:
    thinking = body.get("thinking", {})
    if thinking and body.get("tool_choice", {"type": "auto"})["type"] not in ("auto", "none"):
        yield body["tool_choice"]
    if thinking.get("type") == "enabled" and not 1024 <= thinking["budget_tokens"] < body["max_tokens"]:
        yield thinking, body["max_tokens"]


def who_thinks_has_thought_before_calls_that_are_being_answered(body: Body) -> Iterator[Any]:
    if body.get("thinking", {}).get("type") != "enabled" or len(body["messages"]) < 2:
        return
    said, answer = body["messages"][-2:]
    if (
        any(block["type"] == "tool_result" for block in answer["content"])
        and said["content"][0]["type"] not in THOUGHTS
    ):
        yield said


def a_history_with_calls_declares_tools(body: Body) -> Iterator[Any]:
    tools = {tool["name"] for tool in body.get("tools", ())}
    if any(_blocks(body, "tool_use")) and not tools:
        yield "no tools"
    if "tool_choice" in body and not (tools and body["tool_choice"].get("name", min(tools)) in tools):
        yield body["tool_choice"]


ANTHROPIC: tuple[Rule, ...] = (
    a_limit_is_given,
    messages_alternate_and_are_not_empty,
    text_is_not_blank,
    the_last_words_of_the_assistant_do_not_end_in_white_space,
    calls_are_named_and_have_an_object_as_input,
    ids_of_calls_are_unique,
    every_call_is_answered_first_thing_in_the_next_message,
    what_failed_is_told_in_text,
    no_message_of_the_assistant_ends_in_a_thought,
    thoughts_are_proven,
    the_providers_own_work_is_whole,
    thinking_leaves_room_and_is_free,
    who_thinks_has_thought_before_calls_that_are_being_answered,
    a_history_with_calls_declares_tools,
)


# ------------------------------------------------------------------------------------------------------- Responses


def _items(body: Body, *types: str) -> list[dict[str, Any]]:
    return [item for item in body["input"] if item["type"] in types]


def items_say_something(body: Body) -> Iterator[Any]:
    for item in _items(body, "message"):
        if item["role"] not in ("user", "assistant") or not item["content"]:
            yield item


def users_and_assistants_have_parts_of_their_own(body: Body) -> Iterator[Any]:
    said = {"user": ("input_text", "input_image", "input_file"), "assistant": ("output_text", "refusal")}
    for item in _items(body, "message"):
        for part in item["content"] if isinstance(item["content"], list) else ():
            if part["type"] not in said[item["role"]]:
                yield part


def function_calls_are_named_and_have_an_object_as_arguments(body: Body) -> Iterator[Any]:
    for item in _items(body, "function_call"):
        fit = WORD.fullmatch(item["call_id"]) and WORD.fullmatch(item["name"])
        if not (fit and isinstance(json.loads(item["arguments"]), dict)):
            yield item


def every_function_call_has_one_output_after_it(body: Body) -> Iterator[Any]:
    seen: list[str] = []
    for item in _items(body, "function_call", "function_call_output"):
        if item["type"] == "function_call":
            seen.append(item["call_id"])
        elif item["call_id"] not in seen:
            yield item
    outputs = [item["call_id"] for item in _items(body, "function_call_output")]
    if sorted(seen) != sorted(outputs) or len(set(seen)) < len(seen):
        yield seen, outputs


def calls_to_work_of_the_provider_have_an_output(body: Body) -> Iterator[Any]:
    native = [item for item in body["input"] if "call_id" in item and not item["type"].startswith("function_call")]
    outputs = {item["call_id"] for item in native if item["type"].endswith("_output")}
    calls = {item["call_id"] for item in native if not item["type"].endswith("_output")}
    yield from outputs ^ calls


def reasoning_is_readable(body: Body) -> Iterator[Any]:
    for item in _items(body, "reasoning"):
        if not (body["store"] or item.get("encrypted_content") or item.get("content")):
            yield item


def reasoning_is_followed_by_what_it_led_to(body: Body) -> Iterator[Any]:
    for item, following in pairwise([*body["input"], {"type": "nothing"}]):
        if item["type"] == "reasoning" and (not following.get("id") or following.get("role") == "user"):
            yield item


def no_item_comes_twice(body: Body) -> Iterator[Any]:
    ids = [item["id"] for item in body["input"] if "id" in item]
    yield from {id for id in ids if ids.count(id) > 1}


def a_tool_choice_is_one_of_the_tools(body: Body) -> Iterator[Any]:
    choice = body.get("tool_choice", "auto")
    names = [tool.get("name") for tool in body.get("tools", ())]
    fits = bool(names) if choice == "required" else choice in ("auto", "none") or choice["name"] in names
    if not fits:
        yield choice


RESPONSES: tuple[Rule, ...] = (
    items_say_something,
    users_and_assistants_have_parts_of_their_own,
    function_calls_are_named_and_have_an_object_as_arguments,
    every_function_call_has_one_output_after_it,
    calls_to_work_of_the_provider_have_an_output,
    reasoning_is_readable,
    reasoning_is_followed_by_what_it_led_to,
    no_item_comes_twice,
    a_tool_choice_is_one_of_the_tools,
)


# ------------------------------------------------------------------------------------------------------------ Chat


def chat_messages_say_something(body: Body) -> Iterator[Any]:
    for message in body["messages"]:
        if message["role"] != "tool" and not (message["content"] or message.get("tool_calls")):
            yield message


def chat_calls_have_an_object_as_arguments(body: Body) -> Iterator[Any]:
    for message in body["messages"]:
        for call in message.get("tool_calls", ()):
            if not isinstance(json.loads(call["function"]["arguments"]), dict):
                yield call


def chat_calls_are_answered_at_once_and_in_order(body: Body) -> Iterator[Any]:
    waiting: list[str] = []
    for message in [*body["messages"], {"role": "user"}]:
        if message["role"] == "tool":
            if waiting[:1] != [message["tool_call_id"]]:
                yield message
            waiting = waiting[1:]
            continue
        if waiting:
            yield waiting
        waiting = [call["id"] for call in message.get("tool_calls", ())]


CHAT: tuple[Rule, ...] = (
    chat_messages_say_something,
    chat_calls_have_an_object_as_arguments,
    chat_calls_are_answered_at_once_and_in_order,
)


# ---------------------------------------------------------------------------------------------------------- Gemini

PART_KINDS = frozenset(
    ("text", "inlineData", "fileData", "functionCall", "functionResponse", "executableCode", "codeExecutionResult",
     "toolCall", "toolResponse")
)  # fmt: skip
FUNCTION_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_.:-]{0,63}")
SCHEMA_WORDS = frozenset(
    ("type", "format", "description", "default", "enum", "items", "prefixItems", "minItems", "maxItems", "uniqueItems",
     "minimum", "maximum", "minLength", "maxLength", "pattern", "properties", "additionalProperties", "required",
     "propertyOrdering", "minProperties", "maxProperties", "anyOf", "oneOf", "$ref", "$defs")
)  # fmt: skip


def _parts(body: Body, kind: str) -> list[Any]:
    return [part[kind] for content in body["contents"] for part in content["parts"] if kind in part]


def _functions(body: Body) -> list[dict[str, Any]]:
    return [function for tool in body.get("tools", ()) for function in tool.get("functionDeclarations", ())]


def contents_alternate_and_the_user_has_the_first_and_the_last_word(body: Body) -> Iterator[Any]:
    roles = [content["role"] for content in body["contents"]]
    if roles != [("user", "model")[place % 2] for place in range(len(roles))] or len(roles) % 2 == 0:
        yield roles
    yield from (content for content in body["contents"] if not content["parts"])


def a_part_says_one_thing_and_in_the_right_place(body: Body) -> Iterator[Any]:
    for content in [*body["contents"], {"role": "system", **body.get("systemInstruction", {"parts": []})}]:
        others = {"user": ("functionCall", "thought"), "model": ("functionResponse",), "system": PART_KINDS - {"text"}}
        for part in content["parts"]:
            if len(PART_KINDS & part.keys()) != 1 or any(kind in part for kind in others[content["role"]]):
                yield part


def no_content_is_nothing_but_thoughts(body: Body) -> Iterator[Any]:
    yield from (content for content in body["contents"] if all(part.get("thought") for part in content["parts"]))


def functions_are_named_and_have_an_object_as_arguments(body: Body) -> Iterator[Any]:
    for call in _parts(body, "functionCall"):
        if not (FUNCTION_NAME.fullmatch(call["name"]) and isinstance(call["args"], dict)):
            yield call
    yield from (function for function in _functions(body) if not FUNCTION_NAME.fullmatch(function["name"]))


def every_function_call_is_answered_first_thing_in_the_next_content(body: Body) -> Iterator[Any]:
    """As many answers as calls, and of the same names and ids; no two calls of a content have the same id."""
    contents = [*body["contents"], {"role": "model", "parts": []}]
    for content, following in pairwise([{"role": "user", "parts": []}, *contents]):
        calls = [part["functionCall"] for part in content["parts"] if "functionCall" in part]
        answers = [part["functionResponse"] for part in following["parts"] if "functionResponse" in part]
        asked = [(call["name"], call.get("id")) for call in calls]
        ids = [id for _, id in asked if id is not None]
        first = following["parts"][: len(answers)]
        in_place = len(set(ids)) == len(ids) and all("functionResponse" in part for part in first)
        if asked != [(answer["name"], answer.get("id")) for answer in answers] or not in_place:
            yield calls, following


def results_of_functions_are_objects(body: Body) -> Iterator[Any]:
    for answer in _parts(body, "functionResponse"):
        if not isinstance(answer["response"], dict) or not answer["response"].keys() <= {"output", "error"}:
            yield answer


def proofs_are_base64(body: Body) -> Iterator[Any]:
    for content in body["contents"]:
        for part in content["parts"]:
            proof = part.get("thoughtSignature", "skip_thought_signature_validator")
            if not re.fullmatch(r"([\w+/-]{4})*([\w+/-]{2}(==)?|[\w+/-]{3}=?)?", proof) or not proof:
                yield part


def work_of_the_provider_has_come_to_something(body: Body) -> Iterator[Any]:
    for work, result in (("executableCode", "codeExecutionResult"), ("toolCall", "toolResponse")):
        done = {item.get("id") for item in _parts(body, work)}
        yield from done ^ {item.get("id") for item in _parts(body, result)}


def functions_that_were_called_are_declared(body: Body) -> Iterator[Any]:
    if _parts(body, "functionCall") and not _functions(body):
        yield "no functions"


def calling_is_of_declared_functions(body: Body) -> Iterator[Any]:
    calling = body.get("toolConfig", {}).get("functionCallingConfig", {})
    allowed = calling.get("allowedFunctionNames", ())
    names = {function["name"] for function in _functions(body)}
    if calling and (not names or calling["mode"] not in ("AUTO", "ANY", "NONE") or not names.issuperset(allowed)):
        yield calling
    if allowed and calling["mode"] != "ANY":
        yield calling


def schemas_are_of_known_words(body: Body) -> Iterator[Any]:
    def check(schema: Any) -> Iterator[Any]:
        if not isinstance(schema, dict):
            return
        if not schema.keys() <= SCHEMA_WORDS or (
            "$ref" in schema and schema.keys() - {"$ref", "description", "default"}
        ):
            yield schema
        named = [*schema.get("properties", {}).values(), *schema.get("$defs", {}).values()]
        for part in [*named, *schema.get("anyOf", ()), *schema.get("oneOf", ()), *schema.get("prefixItems", ()),
                     schema.get("items"), schema.get("additionalProperties")]:  # fmt: skip
            yield from check(part)

    for function in _functions(body):
        if "parameters" in function:
            yield function
        yield from check(function.get("parametersJsonSchema"))


def thinking_is_told_in_one_way(body: Body) -> Iterator[Any]:
    thinking = body.get("generationConfig", {}).get("thinkingConfig", {})
    if {"thinkingLevel", "thinkingBudget"} <= thinking.keys():
        yield thinking


def the_first_call_of_a_content_is_proven(body: Body) -> Iterator[Any]:
    for content in body["contents"]:
        first = next((part for part in content["parts"] if "functionCall" in part), {"thoughtSignature": ""})
        if "thoughtSignature" not in first:
            yield first


def results_of_functions_hold_no_media(body: Body) -> Iterator[Any]:
    yield from (answer for answer in _parts(body, "functionResponse") if "parts" in answer)


_GEMINI: tuple[Rule, ...] = (
    contents_alternate_and_the_user_has_the_first_and_the_last_word,
    a_part_says_one_thing_and_in_the_right_place,
    no_content_is_nothing_but_thoughts,
    functions_are_named_and_have_an_object_as_arguments,
    every_function_call_is_answered_first_thing_in_the_next_content,
    results_of_functions_are_objects,
    proofs_are_base64,
    work_of_the_provider_has_come_to_something,
    functions_that_were_called_are_declared,
    calling_is_of_declared_functions,
    schemas_are_of_known_words,
    thinking_is_told_in_one_way,
)
GEMINI_2: tuple[Rule, ...] = (*_GEMINI, results_of_functions_hold_no_media)
GEMINI: tuple[Rule, ...] = (*_GEMINI, the_first_call_of_a_content_is_proven)
"""Of the models since Gemini 3."""


# ---------------------------------------------------------------------------------------------------------- Ollama

BASE64 = re.compile(r"([A-Za-z0-9+/]{4})*([A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?")


def messages_have_a_role_and_say_something(body: Body) -> Iterator[Any]:
    for message in body["messages"]:
        known = message["role"] in ("system", "user", "assistant", "tool") and isinstance(message["content"], str)
        says = message["content"] or message.get("images") or message.get("tool_calls") or message["role"] == "tool"
        if not (known and says):
            yield message


def images_are_base64(body: Body) -> Iterator[Any]:
    for message in body["messages"]:
        yield from (image for image in message.get("images", ()) if not BASE64.fullmatch(image))


def calls_are_named_and_have_an_object_as_arguments(body: Body) -> Iterator[Any]:
    for message in body["messages"]:
        for call in message.get("tool_calls", ()):
            function = call["function"]
            if not (isinstance(function["name"], str) and isinstance(function["arguments"], dict)):
                yield call


def calls_are_answered_at_once_and_in_order(body: Body) -> Iterator[Any]:
    """A result names its tool, and has the id of its call if that has one."""
    waiting: list[tuple[Any, Any]] = []
    for message in [*body["messages"], {"role": "user"}]:
        if message["role"] == "tool":
            if waiting[:1] != [(message["tool_name"], message.get("tool_call_id"))]:
                yield message
            waiting = waiting[1:]
            continue
        if waiting:
            yield waiting
        waiting = [(call["function"]["name"], call.get("id")) for call in message.get("tool_calls", ())]


def nothing_is_asked_that_the_server_does_not_know(body: Body) -> Iterator[Any]:
    yield from body.keys() - {"model", "messages", "stream", "tools", "think", "format", "options", "keep_alive"}


OLLAMA: tuple[Rule, ...] = (
    messages_have_a_role_and_say_something,
    images_are_base64,
    calls_are_named_and_have_an_object_as_arguments,
    calls_are_answered_at_once_and_in_order,
    nothing_is_asked_that_the_server_does_not_know,
)


# ------------------------------------------------------------------------------------------------------- DashScope

PART_NAMES = {"text", "image", "audio", "video"}


def _said(body: Body) -> list[dict[str, Any]]:
    messages: list[dict[str, Any]] = body["input"]["messages"]
    return messages


def the_content_of_a_message_is_a_text(body: Body) -> Iterator[Any]:
    """Of every message for a model of text, and of what a tool says for all."""
    for message in _said(body):
        if not isinstance(message["content"], str):
            yield message


def the_content_of_a_message_is_a_list_of_parts(body: Body) -> Iterator[Any]:
    for message in _said(body):
        content = message["content"]
        if message["role"] == "tool":
            if not isinstance(content, str):
                yield message
        elif not (isinstance(content, list) and content):
            yield message
        else:
            yield from (part for part in content if len(part) != 1 or not part.keys() <= PART_NAMES)


def who_speaks_is_known_and_says_something(body: Body) -> Iterator[Any]:
    for message in _said(body):
        known = message["role"] in ("system", "user", "assistant", "tool")
        if not known or not (message["content"] or message.get("tool_calls") or message["role"] == "tool"):
            yield message


def the_system_speaks_first_and_once(body: Body) -> Iterator[Any]:
    yield from (message for message in _said(body)[1:] if message["role"] == "system")


def the_last_word_is_not_the_assistants_unless_it_goes_on(body: Body) -> Iterator[Any]:
    *before, last = [{"role": "user"}, *_said(body)]
    yield from (message for message in before if "partial" in message)
    if last["role"] == "assistant" and not (last.get("partial") is True and "tool_calls" not in last):
        yield last


def calls_are_functions_with_an_object_of_json_as_arguments(body: Body) -> Iterator[Any]:
    for message in _said(body):
        for call in message.get("tool_calls", ()):
            function = call["function"]
            named = call["type"] == "function" and WORD.fullmatch(call["id"]) and WORD.fullmatch(function["name"])
            if not (named and isinstance(json.loads(function["arguments"]), dict)):
                yield call


def every_call_has_one_result_before_anybody_else_speaks(body: Body) -> Iterator[Any]:
    waiting: list[str] = []
    seen: set[str] = set()
    for message in [*_said(body), {"role": "user"}]:
        if message["role"] == "tool":
            if message["tool_call_id"] not in waiting:
                yield message
            else:
                waiting.remove(message["tool_call_id"])
            continue
        if waiting:
            yield waiting
        waiting = [call["id"] for call in message.get("tool_calls", ())]
        yield from (id for id in waiting if id in seen)
        seen.update(waiting)


def calls_go_with_the_tools_in_both_requests(body: Body) -> Iterator[Any]:
    parameters = body["parameters"]
    names = [tool["function"]["name"] for tool in parameters.get("tools", ())]
    if any("tool_calls" in message for message in _said(body)) and not names:
        yield "no tools"
    choice = parameters.get("tool_choice", "auto")
    if not (choice in ("auto", "none") if isinstance(choice, str) else choice["function"]["name"] in names):
        yield choice


def what_comes_is_asked_for_in_the_form_that_thinking_needs(body: Body) -> Iterator[Any]:
    parameters = body["parameters"]
    if parameters["result_format"] != "message":
        yield parameters
    if parameters.get("enable_thinking") and parameters["incremental_output"] is not True:
        yield parameters


_DASHSCOPE: tuple[Rule, ...] = (
    who_speaks_is_known_and_says_something,
    the_system_speaks_first_and_once,
    the_last_word_is_not_the_assistants_unless_it_goes_on,
    calls_are_functions_with_an_object_of_json_as_arguments,
    every_call_has_one_result_before_anybody_else_speaks,
    calls_go_with_the_tools_in_both_requests,
    what_comes_is_asked_for_in_the_form_that_thinking_needs,
)
DASHSCOPE: tuple[Rule, ...] = (*_DASHSCOPE, the_content_of_a_message_is_a_text)
"""Of models of text."""
DASHSCOPE_MULTIMODAL: tuple[Rule, ...] = (*_DASHSCOPE, the_content_of_a_message_is_a_list_of_parts)
