"""Gemini: a conversation as the system instruction and the list of contents that the protocol accepts.

Contents alternate between `user` and `model`, begin and end with the user, and each is a list of parts. A turn of a
reply becomes one content of the model with the parts that it came as, in order, with their proofs and ids; the results
of the calls begin the content of the user after it. What the API would refuse for ever is left out, or made good:

* thinking and proofs of another provider, and a content of nothing but thinking;
* work of the provider that was cut off: code without its result, a search without what it found;
* the first call of a turn needs a proof, where the model checks it: one that another model made gets the word that the
  API documents for that;
* a user who has said nothing yet, or nothing since, says that the model shall begin, or go on.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from ...message import (
    Base64Source,
    ContentBlock,
    DataBlock,
    Msg,
    MsgRole,
    TextBlock,
    ThinkingBlock,
    ToolResultBlock,
    ToolUseBlock,
)
from ..media import MediaBlock, placeholder
from ..native import is_foreign, native_part
from ..profiles import GEMINI
from ..turns import Spoken, Turn, has_failed, split_turns
from .media import MEDIA, RESULT_MEDIA
from .parts import PROOF

__all__ = ["encode_contents"]

_BEGIN = "Begin."
_GO_ON = "Go on."
_NOTHING_SAID = "The call gave no reason."

_UNCHECKED = "skip_thought_signature_validator"
"""What stands for the proof of a call that the model did not make."""

_BASE64 = re.compile(r"(?:[\w+/-]{4})*(?:[\w+/-]{2,3}=*)?", re.ASCII)
_NO_NAME = re.compile(r"[^\w.:-]", re.ASCII)
_LONGEST_NAME = 64

_WORK = {"codeExecutionResult": "executableCode", "toolResponse": "toolCall"}
"""What the provider does itself, by what comes of it."""
_RESULTS = {work: result for result, work in _WORK.items()}


def encode_contents(
    messages: Iterable[Msg], *, current: bool = True
) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Return the parts of the system instruction, and the contents.

    Args:
        messages: the conversation; assistant messages are whole replies.
        current: whether the model is of the generation that checks the proofs of calls and sees media in results.

    Raises:
        UnsupportedContentError: a user or a hint says something that the protocol cannot carry.
    """
    system: list[dict[str, Any]] = []
    writer = _Writer()
    for item in split_turns(messages, _with_fit_name):
        if isinstance(item, Turn):
            writer.say("model", _said(item, current))
            writer.say("user", _answers(item, current))
        elif item.role is MsgRole.SYSTEM:
            system += [{"text": block.text} for block in item.content if isinstance(block, TextBlock)]
        else:
            writer.say("user", _spoken(item))
    return system, writer.close()


class _Writer:
    """Puts parts into contents that alternate."""

    def __init__(self) -> None:
        self._contents: list[dict[str, Any]] = []

    def say(self, role: str, said: Iterable[dict[str, Any]]) -> None:
        parts = list(said)
        if not parts:
            return
        if self._contents and self._contents[-1]["role"] == role:
            self._contents[-1]["parts"] += parts
        else:
            if not self._contents and role == "model":
                self.say("user", [{"text": _BEGIN}])
            self._contents.append({"role": role, "parts": parts})

    def close(self) -> list[dict[str, Any]]:
        """Return the contents; the last word is the user's."""
        if not self._contents or self._contents[-1]["role"] == "model":
            self.say("user", [{"text": _GO_ON if self._contents else _BEGIN}])
        return self._contents


# ------------------------------------------------------------------------------------------------ what the model said


def _said(turn: Turn, current: bool) -> list[dict[str, Any]]:
    parts = _without_torn_work([part for block in turn.said for part in _parts(block)])
    if all(part.get("thought") for part in parts):
        return []
    first_call = next((part for part in parts if "functionCall" in part), None)
    if current and first_call is not None:
        first_call.setdefault(PROOF, _UNCHECKED)
    return parts


def _parts(block: ContentBlock) -> Iterator[dict[str, Any]]:
    own = native_part(block, GEMINI.name, "part")
    if isinstance(block, TextBlock):
        yield from _text(block)
    elif isinstance(block, ToolUseBlock):
        call = {**own.get("functionCall", {}), "name": block.name, "args": block.input}
        yield {**own, "functionCall": call, **_proof(block)}
    elif isinstance(block, ThinkingBlock) and own:
        if block.thinking or block.signature:
            yield {"text": block.thinking, **own, **_proof(block)}
        elif own.keys() != {"thought"}:
            yield own
    elif isinstance(block, DataBlock) and own and isinstance(block.source, Base64Source):
        yield {**own, "inlineData": {**own["inlineData"], "data": block.source.data}}


def _text(block: TextBlock) -> Iterator[dict[str, Any]]:
    """The text as the parts that it came as, as far as their proofs tell them apart."""
    rest = block.text
    for stretch in native_part(block, GEMINI.name, "text").get("parts", ()):
        own = dict(stretch)
        length = own.pop("length")
        if rest[:length] or own:
            yield {"text": rest[:length], **own}
        rest = rest[length:]
    if rest:
        yield {"text": rest}


def _proof(block: ToolUseBlock | ThinkingBlock) -> dict[str, Any]:
    if not block.signature or is_foreign(block, GEMINI.name) or not _BASE64.fullmatch(block.signature):
        return {}
    return {PROOF: block.signature}


def _without_torn_work(parts: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Leave out work of the provider that nothing came of, and what came of nothing."""
    torn = {*_unmatched(parts, _WORK), *_unmatched(parts[::-1], _RESULTS)}
    return [part for part in parts if id(part) not in torn]


def _unmatched(parts: Sequence[dict[str, Any]], counterparts: dict[str, str]) -> Iterator[int]:
    """Yield the identity of each part whose counterpart does not stand before it."""
    before: set[tuple[str, str]] = set()
    for part in parts:
        for kind, counterpart in counterparts.items():
            if kind in part and (counterpart, _id_of(part[kind])) not in before:
                yield id(part)
            if counterpart in part:
                before.add((counterpart, _id_of(part[counterpart])))


def _id_of(work: Any) -> str:
    return str(work.get("id")) if isinstance(work, dict) else ""


def _with_fit_name(call: ToolUseBlock) -> ToolUseBlock:
    """Return a call with a name that a function may have: a history may come from a model that made up another."""
    name = _NO_NAME.sub("_", call.name)[:_LONGEST_NAME] or "unknown"
    if not (name[0].isalpha() or name[0] == "_"):
        name = f"_{name}"[:_LONGEST_NAME]
    return call if name == call.name else call.model_copy(update={"name": name})


# ------------------------------------------------------------------------------------------------ what it was told


def _answers(turn: Turn, current: bool) -> Iterator[dict[str, Any]]:
    shown: list[dict[str, Any]] = []
    for call, result in zip(turn.calls, turn.results, strict=True):
        id = native_part(call, GEMINI.name, "part").get("functionCall", {}).get("id")
        answer, beside = _result(result, current)
        yield {"functionResponse": {**({"id": id} if id else {}), **answer}}
        shown += beside
    yield from shown
    made = [block for block in turn.said if not native_part(block, GEMINI.name, "part")]
    if carried := MEDIA.parts(made):
        yield from ({"text": "Output of the assistant:"}, *carried)
    for hint in turn.hints:
        yield from _spoken(hint)


def _result(result: ToolResultBlock, current: bool) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """Return the result of a function, and the parts that are shown beside it because it cannot hold them itself."""
    text: list[str] = []
    within: list[dict[str, Any]] = []
    beside: list[dict[str, Any]] = []
    for block in result.output:
        if isinstance(block, TextBlock):
            text.append(block.text)
        elif current and (parts := RESULT_MEDIA.parts([block])):
            within += parts
        elif parts := MEDIA.parts([block]):
            beside += parts
        else:
            text.append(placeholder(block))
    said = "\n".join(text)
    response = {"error": said or _NOTHING_SAID} if has_failed(result) else {"output": said}
    answer = {"name": result.name, "response": response, **({"parts": within} if within else {})}
    return answer, [{"text": f"Output of {result.name}:"}, *beside] if beside else []


def _spoken(spoken: Spoken) -> Iterator[dict[str, Any]]:
    for block in spoken.content:
        if isinstance(block, MediaBlock):
            yield MEDIA.part(block)
        elif isinstance(block, TextBlock):
            yield {"text": block.text}
