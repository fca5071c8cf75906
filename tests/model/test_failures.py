from __future__ import annotations

import base64
import re
from typing import Any

import pytest
from hypothesis import given, strategies as st

from agentscope_rx.model.failures import Failure, masking, read_failure
from tests.counting import steps_of

PROMPT = [
    {"role": "user", "content": [{"type": "text", "text": "The launch code of the rocket\nis four-eight-fifteen."}]}
]


@pytest.mark.parametrize(
    ("body", "failure"),
    [
        ({"error": {"message": "m", "type": "t", "code": "c"}}, Failure("m", "t", "c")),
        ({"error": {"message": "m", "type": None, "code": None, "param": None}}, Failure("m", None, None)),
        (
            {"error": {"message": "m", "code": 429, "status": "RESOURCE_EXHAUSTED"}},
            Failure("m", "RESOURCE_EXHAUSTED", 429),
        ),
        ([{"error": {"message": "m", "code": "c"}}], Failure("m", "c", "c")),
        ({"type": "error", "error": {"type": "overloaded_error", "message": "m"}}, Failure("m", "overloaded_error")),
        ({"error": "m"}, Failure("m")),
        ({"error": "m", "code": "c", "type": "t"}, Failure("m", "t", "c")),
        ({"error": "m", "status": 500}, Failure("m", None, 500)),
        ({"code": "c", "message": "m"}, Failure("m", "c", "c")),
        ({"code": "c", "message": "m", "request_id": "r-1"}, Failure("m", "c", "c", "r-1")),
        ({"error": {"message": "m"}, "request_id": "r-1"}, Failure("m", request_id="r-1")),
        ({"error": "m", "request_id": "not a name"}, Failure("m")),
        ({"object": "error", "message": "m", "type": "t", "code": 400}, Failure("m", "t", 400)),
        ({"type": "error", "code": "server_error", "message": "m", "param": None}, Failure("m", *["server_error"] * 2)),
        ({"type": "error", "code": None, "message": "m"}, Failure("m")),
        ({"detail": "Not Found"}, Failure("Not Found")),
        ({"error": {}}, None),
        ({"error": None, "choices": []}, None),
        ({"choices": [], "message": "m", "code": "c"}, None),
        ({"output": {"text": "t"}, "message": "", "code": ""}, None),
        ({"message": "just a message"}, None),
        ({}, None),
        ([], None),
        ("error", None),
        (None, None),
    ],
)
def test_shapes(body: Any, failure: Failure | None) -> None:
    assert read_failure(body) == failure


@pytest.mark.parametrize(
    ("failure", "line"),
    [
        (Failure("m", "t", "c"), "t, c: m"),
        (Failure("m", "c", "c"), "c: m"),
        (Failure("m", None, 500), "500: m"),
        (Failure("m"), "m"),
        (Failure("", "t"), "t"),
        (Failure("m", "t", request_id="r-1"), "t: m (request r-1)"),
        (Failure(request_id="r-1"), "(request r-1)"),
        (Failure(), ""),
    ],
)
def test_descriptions(failure: Failure, line: str) -> None:
    assert failure.describe() == line


@pytest.mark.parametrize("odd", ["two words", "", "x" * 65, "a\n", "ключ", 10**400, 1.5, ["t"], {"t": 1}])
def test_a_kind_or_code_that_looks_like_no_name_is_none(odd: Any) -> None:
    error = {"message": "m", "type": odd, "code": odd}
    assert read_failure({"error": error}) == Failure("m")
    assert read_failure({"error": "m", **error}) == Failure("m")
    assert read_failure({"error": {**error, "status": "DENIED"}}) == Failure("m", "DENIED")


def test_a_kind_or_code_that_holds_the_key_or_the_prompt_is_left_out() -> None:
    mask = masking("my.odd.key", ["the-launch-code-is-four-eight-fifteen"])
    shown = Failure("m", "invalid:my.odd.key", "launch-code-is-four-eight").masked(mask)
    assert shown == Failure("m", None, None)
    assert Failure("m", "sk-proj-abc123DEF456", 401).masked(mask) == Failure("m", None, 401)
    assert Failure("my.odd.key", "rate_limit.tokens", "c-1").masked(mask) == Failure("***", "rate_limit.tokens", "c-1")


def test_the_key_and_what_looks_like_one_are_masked() -> None:
    mask = masking("my+odd.key", PROMPT)
    said = mask("bad key my+odd.key; not sk-proj-abc123DEF456 either, nor Bearer abcdef")
    assert said == "bad key ***; not *** either, nor Bearer ***"


def test_a_placeholder_for_a_key_is_not_masked() -> None:
    assert masking("x", PROMPT)("exceeds the context") == "exceeds the context"


def test_what_repeats_the_prompt_is_masked() -> None:
    mask = masking(None, PROMPT)
    assert mask("you said: The launch code of the rocket is four-eight-fifteen.!") == "you said: […]!"
    assert mask('Invalid value "code of the rocket is four-eight" at 3') == 'Invalid value "[…]" at 3'
    assert mask("the rocket is fine") == "the rocket is fine"


def test_a_short_prompt_is_masked_whole_and_a_name_in_it_is_not() -> None:
    mask = masking(
        None, [{"role": "assistant", "content": "my pin is\n1234"}, {"name": "calculate", "content": "hi all"}]
    )
    assert mask("cannot answer 'my pin is 1234'") == "cannot answer '[…]'"
    assert mask("the assistant may not calculate my pin") == "the assistant may not calculate my pin"
    assert masking(None, [" " * 9])("as it is") == "as it is"


def test_messages_are_cut_short_and_in_one_line() -> None:
    assert masking(None, [])("a\n  b\tc") == "a b c"
    assert len(masking(None, [])("x" * 10_000)) == 300


@pytest.mark.parametrize("before", range(440, 500))
def test_a_key_at_the_place_of_the_cut_is_masked_whole(before: int) -> None:
    prompt = "conquer the moon " * 40
    said = f"{prompt[: before - 1]} my+odd.key, sk-proj-abc123DEF456 and more"
    shown = masking("my+odd.key", [prompt])(said)
    assert "my" not in shown
    assert "sk-" not in shown


@given(st.text(max_size=60), st.text(max_size=60), st.text(alphabet="abc ", min_size=16, max_size=40))
def test_no_long_part_of_the_prompt_is_ever_shown(before: str, after: str, prompt: str) -> None:
    prompt = " ".join(prompt.split())
    shown = masking(None, [prompt])(before + prompt + after)
    assert not any(prompt[i : i + 16] in shown for i in range(len(prompt) - 15))


@given(st.data(), st.text(alphabet="ab", max_size=60), st.text(alphabet="ab", max_size=120))
def test_what_is_hidden_is_every_run_that_the_prompt_holds_and_nothing_else(
    data: st.DataObject, message: str, prompt: str
) -> None:
    cut = data.draw(st.integers(0, len(prompt)))
    texts = [prompt[:cut], prompt[cut:]]
    hidden = {
        place
        for start in range(len(message) - 15)
        if any(message[start : start + 16] in text for text in texts)
        for place in range(start, start + 16)
    }
    kept = "".join("|" if place in hidden else character for place, character in enumerate(message))
    assert masking(None, texts)(message) == re.sub(r"\|+", "[…]", kept)


@pytest.mark.parametrize(
    "prompt",
    [
        pytest.param("lorem ipsum ", id="text"),
        pytest.param(base64.b64encode(bytes(9)).decode(), id="media"),
        pytest.param("dolor sit amet ", id="the same again and again"),
    ],
)
def test_each_character_more_of_a_prompt_is_the_same_work_more_and_little(prompt: str) -> None:
    def masked(times: int) -> None:
        masking("my+odd.key", [{"content": prompt * times}])("dolor sit amet " * 20)

    masked(1)
    one, two, four = (steps_of(masked, 80 * times) for times in (1, 2, 4))
    assert four - two == 2 * (two - one)
    assert two - one < 10 * 80 * len(prompt)
