"""What a provider says when something goes wrong, and how much of it may be repeated.

Every provider wraps its errors differently; they all come down to a kind, a code and a message. All of it is the
provider's own text and may quote the request. So kind and code are taken only where they look like names, the message
is cut short, and what repeats the key or the prompt is masked before it becomes part of an error of ours.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias, TypeVar

from .characters import whole_characters

__all__ = ["Failure", "Mask", "masking", "read_failure"]

N = TypeVar("N", bound=str | int | None)

Mask: TypeAlias = Callable[[str], str]
"""Makes a provider's text fit to be shown."""

_MAX_SHOWN = 300
_MAX_READ = 500
_MAX_CODE = 10**9
_SHARED_RUN = 16
_BLOCK = _SHARED_RUN // 2
_MIN_SECRET = 8  # what is shorter is a placeholder, and may be part of any word
_NAME = re.compile(r"[A-Za-z0-9_.:-]{1,64}")
_KEY_LIKE = re.compile(r"\b[sr]k-[A-Za-z0-9_-]{8,}|(?<=Bearer )\S+")


@dataclass(frozen=True, slots=True)
class Failure:
    """An error as a provider describes it."""

    message: str = ""
    """The provider's explanation, as it came."""
    kind: str | None = None
    """The provider's word for the failure."""
    code: str | int | None = None
    """The provider's error code."""
    request_id: str | None = None
    """What the provider calls the request, for whoever asks it what went wrong."""

    def masked(self, mask: Mask) -> Failure:
        """Return what of it may be shown; a name that the mask would change is left out."""
        return Failure(
            mask(self.message),
            _unless_masked(self.kind, mask),
            _unless_masked(self.code, mask),
            _unless_masked(self.request_id, mask),
        )

    def describe(self) -> str:
        """Return kind, code, message and request in one line, "" when the provider gave none of them."""
        names = ", ".join(dict.fromkeys(str(name) for name in (self.kind, self.code) if name is not None))
        parts = [part for part in (names, self.message) if part]
        line: str = whole_characters(": ".join(parts)) + (f" (request {self.request_id})" if self.request_id else "")
        return line.strip()


def read_failure(body: Any) -> Failure | None:
    """Return the error that a JSON value of a provider describes, None when it describes none.

    The shapes: `{"error": {"message", "type", "code"}}`, `{"error": "text", "status"}`, the same in a list, and without
    the envelope `{"message", "type", "code"}`, `{"detail": ...}`; beside each may stand a `request_id`.
    """
    if isinstance(body, list):
        return read_failure(body[0]) if body else None
    if not isinstance(body, Mapping):
        return None
    request_id = _word(body.get("request_id"))
    if error := body.get("error"):
        if isinstance(error, Mapping):
            return _failure(error, request_id)
        return Failure(str(error), _word(body.get("type")), _code(body.get("code") or body.get("status")), request_id)
    if "choices" in body or body.get("output"):
        return None
    if isinstance(body.get("message"), str) and ("code" in body or "type" in body or body.get("object") == "error"):
        return _failure(body, request_id)
    if detail := body.get("detail"):
        return Failure(str(detail))
    return None


def _failure(error: Mapping[str, Any], request_id: str | None) -> Failure:
    kinds = (_word(error.get(name)) for name in ("type", "status", "code"))
    return Failure(
        str(error.get("message") or ""),
        next((kind for kind in kinds if kind not in (None, "error")), None),
        _code(error.get("code")),
        request_id,
    )


def _unless_masked(name: N, mask: Mask) -> N | None:
    return name if mask(str(name)) == str(name) else None


def _word(value: Any) -> str | None:
    return value if isinstance(value, str) and _NAME.fullmatch(value) else None


def _code(value: Any) -> str | int | None:
    return value if isinstance(value, int) and abs(value) < _MAX_CODE else _word(value)


def masking(secret: str | None, prompt: Any) -> Mask:
    """Return a mask that hides one key, everything that looks like a key, and whatever repeats the prompt.

    Args:
        secret: the key that the request was made with.
        prompt: the part of the request body that holds what was said, as JSON values.
    """

    def mask(message: str) -> str:
        message = _in_one_line(message)
        if secret and len(secret) >= _MIN_SECRET:
            message = message.replace(secret, "***")
        message = _KEY_LIKE.sub("***", message)[:_MAX_READ]  # only now: half a key would not be known for one
        message = _without_phrases(_strings(prompt), message)
        long_texts = (_in_one_line(text) for text in _strings(prompt) if len(text) >= _SHARED_RUN)
        message = _without_runs_of(long_texts, message)
        return message if len(message) <= _MAX_SHOWN else message[: _MAX_SHOWN - 1] + "…"

    return mask


def _in_one_line(text: str) -> str:
    return " ".join(text.split())


def _strings(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for item in value.values():
            yield from _strings(item)
    elif isinstance(value, list | tuple):
        for item in value:
            yield from _strings(item)


def _without_phrases(texts: Iterable[str], message: str) -> str:
    """Replace every text that is shorter than a run, but for names: roles, types and tools are, and may be shown."""
    for text in texts:
        phrase = _in_one_line(text) if len(text) < _SHARED_RUN else ""
        if len(phrase) >= _MIN_SECRET and not _NAME.fullmatch(phrase):
            message = message.replace(phrase, "[…]")
    return message


def _without_runs_of(texts: Iterable[str], message: str) -> str:
    """Replace every run of `_SHARED_RUN` characters or more that `message` shares with one of the texts."""
    runs = _windows(message, _SHARED_RUN)
    blocks = _windows(message, _BLOCK)
    places: set[str] = set()
    for text in texts:
        # Whatever run of a text, it holds one of the text's blocks whole: only around a block that is in the message
        # too can a shared run be. So a text of megabytes is passed through once, in large steps.
        places.update(
            text[max(0, start - _BLOCK) : start + _SHARED_RUN]
            for start in range(0, len(text) - _BLOCK + 1, _BLOCK)
            if text[start : start + _BLOCK] in blocks
        )
    shared = runs.intersection(run for place in places for run in _windows(place, _SHARED_RUN))
    shown: list[str] = []
    hidden_to = -1
    for position, character in enumerate(message):
        if message[position : position + _SHARED_RUN] in shared:
            if hidden_to < position:
                shown.append("[…]")
            hidden_to = position + _SHARED_RUN
        if position >= hidden_to:
            shown.append(character)
    return "".join(shown)


def _windows(text: str, length: int) -> set[str]:
    """Return every part of `text` that has this length."""
    return {text[start : start + length] for start in range(len(text) - length + 1)}
