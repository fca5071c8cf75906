"""Writes the pages that are drawn from the code's own tables: `python docs/generate.py`. A test checks them."""

from __future__ import annotations

from pathlib import Path

from agentscope_rx.event.codec.losses import losses
from agentscope_rx.event.lifecycle import RULES, STEPS, TRANSITIONS, Part, Phase
from agentscope_rx.permission import decision_table

HERE = Path(__file__).parent


def lifecycle_page() -> str:
    """The lifecycle of everything in a stream, as diagrams and rules."""
    diagrams = "\n".join(f"## {part.value.replace('_', ' ').capitalize()}\n\n{_diagram(part)}\n" for part in Part)
    rules = "\n".join(f"* {rule.name[0].upper()}{rule.name[1:]}." for rule in RULES)
    return (
        "# What may follow what\n\n"
        "A reply, a model call, a block, a tool call and a tool result each have a lifecycle. The diagrams and the "
        "rules are drawn from the table in `event/lifecycle.py`, which the assembler, the fold and `verify_events` "
        "read.\n\n"
        f"{diagrams}\n## Rules between them\n\n{rules}\n"
    )


def _diagram(part: Part) -> str:
    names: dict[Phase, list[str]] = {}
    for cls, step in STEPS.items():
        if step.part is part:
            names.setdefault(step.phase, []).append(str(cls.model_fields["type"].default))
    names.setdefault(Phase.RESUME, ["AGENT_START (resumed)"])
    lines = [
        f"    {state.value} --> {following.value}: {', '.join(names[phase])}"
        for state, moves in TRANSITIONS[part].items()
        for phase, following in moves.items()
    ]
    return "\n".join(["```mermaid", "stateDiagram-v2", "    [*] --> new", *lines, "```"])


def dialects_page() -> str:
    """What the other dialects cannot carry."""
    return (
        "# Dialects\n\n"
        "The native form loses nothing. What the forms of AgentScope Java and AgentScope Python cannot carry is listed "
        "here, from the codec's own tables; everything else survives the way there and back.\n\n"
        f"## Java\n\n{_losses('java')}\n\n## Python\n\n{_losses('python')}\n"
    )


def _losses(dialect: str) -> str:
    rows = [(loss.cls.__name__, loss.field or "-", loss.what) for loss in losses(dialect)]  # type: ignore[arg-type]
    table = [("class", "field", "what becomes of it"), ("---", "---", "---"), *rows]
    return "\n".join(f"| {' | '.join(cell.replace('|', '&#124;') for cell in row)} |" for row in table)


def permission_page() -> str:
    """How a tool call is judged, step by step."""
    return f"{_PERMISSION}\n{decision_table()}\n{_AFTER_THE_DECISION}"


_PERMISSION = """# Whether a call may run

An agent with `permission=None` asks for nothing: only what a tool itself says, or declares, has a call denied or a
person asked. With a `PermissionContext` every call is judged by rules and a mode. The first step of the table that
applies, and has an outcome in the mode, decides; the table is written from the engine's own data, and tried cell by
cell in its tests.

```python
from agentscope_rx import PermissionContext, PermissionEngine, PermissionRule, tool


@tool(command="line")
def shell(line: str) -> str:
    \"\"\"Run a command.\"\"\"
    return ""


allow_git = PermissionRule(tool_name="shell", rule_content="git:*", behavior="allow")
engine = PermissionEngine(PermissionContext(mode="default", allow_rules=[allow_git]))
assert engine.evaluate(shell, {"line": "git push"}).behavior == "allow"
assert engine.evaluate(shell, {"line": "git push && rm -rf /"}).behavior == "ask"    # dangerous, whatever rules say
assert engine.evaluate(shell, {"line": "npm install"}).suggested_rules[0].rule_content == "npm install:*"
```
"""

_AFTER_THE_DECISION = """
* **allow**: the call runs. **deny**: it gets a result in the state `denied`, whose text says why. **ask**: the reply
  pauses with REQUIRE_USER_CONFIRM; the call carries `suggested_rules` that would let it and its like run, where a rule
  could.
* A rule that denies or asks *touches* a call when any part of it fits, under any of its names. Rules that allow must
  *cover* it: each path as it really is, each program of a command. For tools with `paths=` a rule is a glob, for those
  with `command=` a pattern such as `git:*`; any other tool may bring `match_rule=`.
* Nobody is asked about a call that its tool does not take: arguments that do not fit are an error for the model.
* A decided call is not judged again when the reply goes on; an undecided one is, so that an accepted rule releases it.
  Accepted rules are saved with the session, and hold for its next calls. Where the session has no rules, because the
  agent has no `permission=`, accepting one is a `ResumeError`.
"""

PAGES = {"lifecycle.md": lifecycle_page, "dialects.md": dialects_page, "permission.md": permission_page}
"""The generated pages."""


if __name__ == "__main__":
    for name, page in PAGES.items():
        (HERE / name).write_text(page(), encoding="utf-8")
