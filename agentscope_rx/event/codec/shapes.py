"""Shapes: how our objects look in another implementation's JSON, as tables.

    Shape(TextBlockDeltaEvent, "TEXT_BLOCK_DELTA", Field("reply_id", "replyId"), Field("delta"), ...)

A shape is a class of ours, the `type` it has on the wire, and its fields; a field is one attribute of ours, the key
it has on the wire, and how its value changes on the way. `Shape.write` and `Shape.read` walk the table; what a shape
has no field for is lost, so the table of losses in the documentation is read off the same data (see `losses.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias

from pydantic import BaseModel

__all__ = ["Facts", "Field", "Form", "Shape", "many", "null", "one", "tagged"]

Facts: TypeAlias = Mapping[tuple[str, str], Any]
"""What a stream has said before: the value of a field, by its name and the id of what it belongs to."""

NO_FACTS: Facts = {}


def null() -> None:
    """Write null where there is nothing."""


class Form(NamedTuple):
    """How the value of a field changes on its way; either way, None says that there is nothing."""

    write: Callable[[Any, str], Any]
    """Ours to theirs; it is also given the time of the enclosing event or message, as theirs."""
    read: Callable[[Any], Any]
    """Theirs to ours; what it does not know it passes on, for the model of ours to judge."""


@dataclass(frozen=True, slots=True)
class Field:
    """One attribute of ours and where it is on the wire."""

    name: str
    """The attribute; "" for a key that is written and never read."""
    key: str
    """The key; `usage.inputTokens` is one inside an object, "" one that the wire does not have."""
    form: Form | None = None
    """How the value changes, None when it does not."""
    missing: Callable[[], Any] | None = None
    """Makes what is written when there is nothing to write; None leaves the key out."""
    default: Callable[[], Any] | None = None
    """Makes what is read when there is nothing to read; None leaves it to the class."""
    also: tuple[str, ...] = ()
    """Other keys that are read when `key` has nothing."""
    get: Callable[[Any, str], Any] | None = None
    """Makes what is written from the whole object and the time, in place of reading the attribute."""
    carries: tuple[str, ...] = ()
    """Other attributes that this key carries too."""
    told_by: str = ""
    """The class has no such attribute, but an event before it told, about the object whose id is in this one."""
    loss: str = ""
    """What is lost on the way, for the documentation; "" when nothing is."""


class Shape:
    """One class of ours on the wire.

    Args:
        cls: The class.
        type: Its `type` on the wire, None when it has none there.
        fields: Its fields, in the order in which they are written.
        only: What instances it can write; None means all.
        settle: Mends the fields after reading, in place, where one depends on another.
        loss: What the shape as a whole loses, for the documentation.
    """

    def __init__(
        self,
        cls: type[BaseModel],
        type: str | None,
        fields: tuple[Field, ...],
        *,
        only: Callable[[Any], bool] | None = None,
        settle: Callable[[dict[str, Any]], None] | None = None,
        loss: str = "",
    ) -> None:
        self.cls = cls
        self.type = type
        self.fields = fields
        self.only = only
        self.loss = loss
        self.keys = {field.name: field.key for field in fields if field.name and field.key}
        """What each attribute is called on the wire."""
        self._settle = settle
        own_type = cls.model_fields["type"].default if "type" in cls.model_fields else None
        self._start = {} if own_type is None else {"type": str(own_type)}
        self._written = tuple((field, *_split(field.key)) for field in fields if field.key)
        # Keys inside an object first: what they take, the field of the whole object no longer has.
        read = sorted((field for field in fields if field.name), key=lambda field: "." not in field.key)
        self._read = tuple((field, tuple(map(_split, _keys(field)))) for field in read)
        self._inner = {head for _, keys in self._read for head, tail in keys if tail}

    def write(self, model: Any, at: str, facts: Facts = NO_FACTS) -> dict[str, Any]:
        """Return the wire's object for an instance of the class."""
        out: dict[str, Any] = {} if self.type is None else {"type": self.type}
        for field, head, tail in self._written:
            if field.told_by:
                value = facts.get((field.name, getattr(model, field.told_by)))
            elif field.get is not None:
                value = field.get(model, at)
            else:
                value = getattr(model, field.name)
            if value is not None and field.form is not None:
                value = field.form.write(value, at)
            if value is None:
                if field.missing is None:
                    continue
                value = field.missing()
            if tail:
                out[head] = {**(out.get(head) or {}), tail: value}
            else:
                out[head] = value
        return out

    def read(self, data: Mapping[str, Any]) -> dict[str, Any]:
        """Return our fields for the wire's object; the class of ours has the last word on them."""
        inner = {head: dict(data[head]) for head in self._inner if isinstance(data.get(head), Mapping)}
        fields: dict[str, Any] = dict(self._start)
        for field, keys in self._read:
            value = None
            for head, tail in keys:
                place: Any = inner.get(head, {}) if tail else inner if head in inner else data
                value = place.get(tail or head)
                if value is not None and field.form is not None:
                    value = field.form.read(value)
                if value is not None:
                    if tail:
                        del place[tail]
                    break
            if value is None and field.default is not None:
                value = field.default()
            if value is not None:
                fields[field.name] = value
        if self._settle is not None:
            self._settle(fields)
        return fields


def _keys(field: Field) -> tuple[str, ...]:
    return (field.key, *field.also) if field.key else field.also


def _split(key: str) -> tuple[str, str]:
    head, _, tail = key.partition(".")
    return head, tail


def one(shape: Shape) -> Form:
    """Return the form of a field that holds an object of this shape."""
    return Form(shape.write, lambda value: shape.read(value) if isinstance(value, Mapping) else value)


def many(item: Form) -> Form:
    """Return the form of a field that holds a sequence; nulls in it are dropped."""

    def read(value: Any) -> Any:
        if not isinstance(value, list | tuple):
            return value
        return [item.read(element) for element in value if element is not None]

    return Form(lambda value, at: [item.write(element, at) for element in value], read)


def tagged(
    *shapes: Shape, aliases: Mapping[str, str] | None = None, telltales: Mapping[str, str] | None = None
) -> Form:
    """Return the form of a field that holds an object of one of these shapes.

    Args:
        shapes: The shapes; of those with one `type` the first is read.
        aliases: Other values of `type` that are read.
        telltales: For objects without `type`: keys, and the type of the object that has them.
    """
    by_class = {shape.cls: shape for shape in shapes}
    by_type = {str(shape.type): shape for shape in reversed(shapes)}
    by_type.update({alias: by_type[type] for alias, type in (aliases or {}).items()})

    def read(value: Any) -> Any:
        if not isinstance(value, Mapping):
            return value
        type = value.get("type")
        if type is None:
            type = next((type for key, type in (telltales or {}).items() if key in value), None)
        shape = by_type.get(type) if isinstance(type, str) else None
        return value if shape is None else shape.read(value)

    return Form(lambda value, at: by_class[value.__class__].write(value, at), read)
