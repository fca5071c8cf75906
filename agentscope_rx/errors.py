"""Every error this package raises on purpose.

```
AgentScopeError
├── ConfigurationError              the caller asked for something that cannot be
│   └── MissingExtraError           … because an optional dependency is not installed (also an ImportError)
├── ProtocolError                   an event stream broke a rule of the lifecycle
│   ├── LocalProtocolError          … and we, or a middleware of ours, broke it
│   ├── RemoteProtocolError         … and the peer that sent the events broke it
│   └── MissingStartError           a delta or end whose start was never seen
├── ModelError                      a model call failed
│   ├── ModelHTTPError              the server refused the request (status, kind)
│   ├── ModelStreamError            the stream carried an error, or was no stream
│   ├── ModelTruncatedError         the stream stopped without saying that it was done
│   ├── ModelStallError             the stream stayed open but no content came
│   ├── UnsupportedContentError     the model cannot be sent this content
│   └── StructuredOutputError       the model did not give the object that it was asked for
├── ToolError                       a tool cannot be defined, found or called
├── MiddlewareError                 a middleware hook raised (cause kept)
├── ResumeError                     an answer does not fit the paused reply
│   ├── UnknownToolCallError
│   ├── StaleAnswerError
│   └── PendingToolCallsError
├── SessionBusyError                the session is taken, and the caller cannot wait
├── AgentShuttingDownError          the agent takes no more calls
├── StateConflictError              somebody else saved this session first
├── StoreError                      a store failed to load or save
├── CursorError                     a log position that the log does not hold
├── BufferOverflowError             a source that cannot pause outran its consumer
└── StreamCancelled                 the stream was cancelled by someone other than its subscriber
```

A message says what happened, what was expected and what to do. It never holds a key or the text of a prompt.
"""

from __future__ import annotations

__all__ = [
    "AgentScopeError",
    "AgentShuttingDownError",
    "BufferOverflowError",
    "ConfigurationError",
    "CursorError",
    "LocalProtocolError",
    "MiddlewareError",
    "MissingExtraError",
    "MissingStartError",
    "ModelError",
    "ModelHTTPError",
    "ModelStallError",
    "ModelStreamError",
    "ModelTruncatedError",
    "PendingToolCallsError",
    "ProtocolError",
    "RemoteProtocolError",
    "ResumeError",
    "SessionBusyError",
    "StaleAnswerError",
    "StateConflictError",
    "StoreError",
    "StreamCancelled",
    "StructuredOutputError",
    "ToolError",
    "UnknownToolCallError",
    "UnsupportedContentError",
]


class AgentScopeError(Exception):
    """Base of every error of this package."""

    def __reduce__(self) -> tuple[object, ...]:
        # An exception is made again from its message alone; what else `__init__` wants is in its fields.
        return _restored, (type(self), self.args), self.__dict__


def _restored(cls: type[AgentScopeError], args: tuple[object, ...]) -> AgentScopeError:
    error = cls.__new__(cls, *args)
    super(AgentScopeError, error).__init__(*args)
    return error


class ConfigurationError(AgentScopeError):
    """The caller asked for something that cannot be: a wrong argument, an unknown name, a missing key."""


class MissingExtraError(ConfigurationError, ImportError):
    """An optional dependency is not installed; the message holds the command that installs it."""

    def __init__(self, feature: str, install: str) -> None:
        super().__init__(f"{feature} needs a package that is not installed. Install it with: {install}")
        self.feature = feature
        """What was asked for."""
        self.install = install
        """The command that installs what is missing."""


class ProtocolError(AgentScopeError):
    """An event stream broke a rule of the lifecycle table."""


class LocalProtocolError(ProtocolError):
    """This program, or a middleware in it, broke a rule of the event protocol."""


class RemoteProtocolError(ProtocolError):
    """What a peer sent is not an event, or breaks a rule of the event protocol."""


class MissingStartError(ProtocolError):
    """A delta or end came for something whose start was never seen."""


class ModelError(AgentScopeError):
    """A model call failed."""


class ModelHTTPError(ModelError):
    """The model server refused the request, or could not be reached."""

    def __init__(
        self,
        message: str,
        *,
        status: int | None = None,
        kind: str | None = None,
        retry_after: float | None = None,
    ) -> None:
        super().__init__(message)
        self.status = status
        """HTTP status, None when no response came at all."""
        self.kind = kind
        """The provider's own word for the failure, such as `rate_limit_error`, if it gave one."""
        self.retry_after = retry_after
        """How long the server asks to wait before the next request, in seconds, if it does."""


class ModelStreamError(ModelError):
    """The stream carried an error object, or was no event stream at all."""

    def __init__(
        self, message: str, *, kind: str | None = None, code: str | int | None = None, malformed: bool = False
    ) -> None:
        super().__init__(message)
        self.kind = kind
        """The provider's own word for the failure, if it gave one."""
        self.code = code
        """The provider's error code, if it gave one."""
        self.malformed = malformed
        """Whether a part of the stream could not be read: it was damaged on its way."""


class ModelTruncatedError(ModelError):
    """The body ended before the model said that it was done."""


class ModelStallError(ModelError):
    """The connection stayed open but no content came within the limit."""

    def __init__(self, message: str, *, seconds: float) -> None:
        super().__init__(message)
        self.seconds = seconds
        """The limit that passed without content, in seconds."""


class UnsupportedContentError(ModelError):
    """The request holds content that this model cannot be sent; nothing was sent."""


class StructuredOutputError(ModelError):
    """The model was asked several times for an object, and gave none that fits."""


class ToolError(AgentScopeError):
    """A tool cannot be defined, found or called as asked."""


class MiddlewareError(AgentScopeError):
    """A middleware hook raised; the cause is kept in `__cause__`."""


class ResumeError(AgentScopeError):
    """An answer does not fit the paused reply; nothing was changed."""


class UnknownToolCallError(ResumeError):
    """An answer names a tool call that the paused reply does not have."""


class StaleAnswerError(ResumeError):
    """An answer came for a reply or a call that no longer waits for one."""


class PendingToolCallsError(ResumeError):
    """A new message came while tool calls still wait for an answer."""


class SessionBusyError(AgentScopeError):
    """The session is taken by another call, and the caller would not wait or could only wait for ever."""


class AgentShuttingDownError(AgentScopeError):
    """The agent has been told to shut down and takes no more calls; nothing was changed."""


class StateConflictError(AgentScopeError):
    """The session was saved by somebody else since it was loaded."""


class StoreError(AgentScopeError):
    """A state store failed to load or save."""


class CursorError(AgentScopeError):
    """A position in an event log that the log does not hold."""


class BufferOverflowError(AgentScopeError):
    """A source that cannot be paused outran a bounded consumer."""


class StreamCancelled(AgentScopeError):  # noqa: N818 - a cancellation, named like asyncio's
    """The stream was cancelled by someone other than its subscriber, such as the end of its event loop."""
