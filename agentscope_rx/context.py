"""Who is calling: the session and user of one call, and what the application wants to hand to its tools."""

from __future__ import annotations

from typing import Any, TypeVar, overload

from .errors import ConfigurationError

__all__ = ["RuntimeContext"]

T = TypeVar("T")

_NOT_GIVEN: Any = object()


class RuntimeContext:
    """The session, the user and the attributes of one call.

    Attributes are kept by key (`context.put("tenant", 7)`) and by type (`context.put(Database, db)`, or
    `context.put(db)` for the object's own class). A tool that has a parameter of a type in the context is handed
    the object, and the model does not see that parameter.
    """

    def __init__(self, session_id: str | None = None, user_id: str | None = None, **attributes: Any) -> None:
        self.session_id = session_id
        """The conversation; None stands for the agent's default session."""
        self.user_id = user_id
        """The user, None when there is only one."""
        self._attributes: dict[str | type, Any] = dict(attributes.items())

    @overload
    def put(self, key: str | type, value: Any, /) -> RuntimeContext: ...
    @overload
    def put(self, value: object, /) -> RuntimeContext: ...
    def put(self, key: Any, value: Any = _NOT_GIVEN, /) -> RuntimeContext:
        """Keep a value under a key or a type, or an object under its own class; returns the context.

        Raises:
            ConfigurationError: the key is neither a string nor a type.
        """
        if value is _NOT_GIVEN:
            key, value = type(key), key
        if not isinstance(key, str | type):
            raise ConfigurationError(f"a context key is a string or a type, got {type(key).__name__}")
        self._attributes[key] = value
        return self

    @overload
    def get(self, key: str, default: Any = None) -> Any: ...
    @overload
    def get(self, key: type[T], default: T | None = None) -> T | None: ...
    def get(self, key: str | type, default: Any = None) -> Any:
        """Return what is kept under a key or a type, `default` when nothing is."""
        return self._attributes.get(key, default)

    def copy(self) -> RuntimeContext:
        """Return a context with the same session, user and attributes; what is put into one is not in the other."""
        twin = RuntimeContext(self.session_id, self.user_id)
        twin._attributes.update(self._attributes)
        return twin

    def types(self) -> frozenset[type]:
        """Return the types that something is kept under."""
        return frozenset(key for key in self._attributes if isinstance(key, type))

    def __repr__(self) -> str:
        keys = ", ".join(sorted(key if isinstance(key, str) else key.__name__ for key in self._attributes))
        return f"RuntimeContext(session_id={self.session_id!r}, user_id={self.user_id!r}, attributes=[{keys}])"
