"""Writes the pages that are drawn from the code's own tables: `python docs/generate.py`. A test checks them."""

from __future__ import annotations

from pathlib import Path

from agentscope_rx.event.codec.losses import losses
from agentscope_rx.event.lifecycle import RULES, STEPS, TRANSITIONS, Part, Phase

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


PAGES = {"lifecycle.md": lifecycle_page, "dialects.md": dialects_page}
"""The generated pages."""


if __name__ == "__main__":
    for name, page in PAGES.items():
        (HERE / name).write_text(page(), encoding="utf-8")
