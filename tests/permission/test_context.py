from __future__ import annotations

import json

import pytest
from hypothesis import given, strategies as st
from pydantic import ValidationError

from agentscope_rx.errors import ConfigurationError
from agentscope_rx.message import PermissionBehavior, PermissionRule
from agentscope_rx.permission import PermissionContext, PermissionMode

from .calls import ALLOW, ASK, DENY, FIELDS, PASSTHROUGH, rule

RULES = st.lists(
    st.builds(
        PermissionRule,
        tool_name=st.sampled_from(["a", "b"]),
        rule_content=st.sampled_from([None, "", "x", "y"]),
        behavior=st.sampled_from([ALLOW, DENY, ASK]),
        source=st.sampled_from([None, "suggested"]),
    ),
    max_size=12,
)


def kept(context: PermissionContext) -> list[PermissionRule]:
    return [rule for field in FIELDS.values() for rule in getattr(context, field)]


def test_nothing_is_set_by_default():
    assert PermissionContext() == PermissionContext(
        mode=PermissionMode.DEFAULT, allow_rules=(), deny_rules=(), ask_rules=(), working_directories=()
    )


@pytest.mark.parametrize("mode", PermissionMode)
@pytest.mark.parametrize("written", [str.upper, str.title, str])
def test_11_3_106_a_mode_is_parsed_in_any_case(mode: PermissionMode, written: type[str]):
    assert PermissionMode(written(mode.value)) is mode
    assert PermissionContext.model_validate({"mode": written(mode.value)}).mode is mode
    assert mode.value == mode.name.lower()


@pytest.mark.parametrize("mode", ["", "dontask", None, 1])
def test_what_is_no_mode(mode: object):
    with pytest.raises(ValidationError):
        PermissionContext.model_validate({"mode": mode})


@given(RULES, st.sampled_from(PermissionMode), st.lists(st.text(), max_size=3))
def test_a_context_survives_json(rules: list[PermissionRule], mode: PermissionMode, directories: list[str]):
    context = PermissionContext(mode=mode, working_directories=tuple(directories)).with_rules(rules)
    assert PermissionContext.model_validate_json(context.model_dump_json()) == context
    assert PermissionContext.model_validate(json.loads(context.model_dump_json(exclude_defaults=True))) == context


def test_the_form_that_agentscope_writes():
    allowed = {"tool_name": "bash", "rule_content": "git:*", "behavior": "allow", "source": "suggested"}
    other = {"tool_name": "write", "rule_content": None, "behavior": "allow", "source": "userSettings"}
    context = PermissionContext.model_validate(
        {
            "mode": "ACCEPT_EDITS",
            "working_directories": {"/data": {"path": "/data", "source": "session"}},
            "allow_rules": {"bash": [allowed], "write": [other]},
            "deny_rules": {},
            "ask_rules": {"bash": [allowed | {"behavior": "ask", "rule_content": "git push:*"}]},
        }
    )
    assert context == PermissionContext(
        mode=PermissionMode.ACCEPT_EDITS,
        working_directories=("/data",),
        allow_rules=(PermissionRule(**allowed), PermissionRule(**other)),
        ask_rules=(PermissionRule(tool_name="bash", rule_content="git push:*", behavior=ASK, source="suggested"),),
    )


@pytest.mark.parametrize("behavior", PermissionBehavior)
@pytest.mark.parametrize("field", FIELDS.values())
def test_a_rule_stands_among_its_like(field: str, behavior: PermissionBehavior):
    if FIELDS.get(behavior) == field:
        assert kept(PermissionContext(**{field: (rule("t", None, behavior),)}))
    else:
        with pytest.raises(ValidationError, match=f"a rule about t with the behavior '{behavior.value}'"):
            PermissionContext(**{field: (rule("t", None, behavior),)})


@given(RULES, RULES)
def test_adding_rules(first: list[PermissionRule], second: list[PermissionRule]):
    before = PermissionContext().with_rules(first)
    after = before.with_rules(second)
    meanings = [(rule.tool_name, rule.rule_content or None, rule.behavior) for rule in kept(after)]
    assert len(set(meanings)) == len(meanings)
    assert set(meanings) == {(r.tool_name, r.rule_content or None, r.behavior) for r in first + second}
    assert set(kept(before)) <= set(kept(after))
    assert after.with_rules(second) == after
    assert all(FIELDS[rule.behavior] == field for field in FIELDS.values() for rule in getattr(after, field))


def test_adding_rules_leaves_the_context_as_it_was():
    context = PermissionContext()
    assert context.with_rules([rule("t")]).with_mode(PermissionMode.BYPASS) == PermissionContext(
        mode=PermissionMode.BYPASS, allow_rules=(rule("t"),)
    )
    assert context == PermissionContext()


def test_a_rule_that_says_nothing_is_refused():
    with pytest.raises(ConfigurationError, match="has the behavior 'passthrough'; expected one of allow, deny, ask"):
        PermissionContext().with_rules([rule("t"), rule("t", None, PASSTHROUGH)])
