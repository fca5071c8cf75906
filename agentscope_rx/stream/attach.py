"""How this package subscribes to what it is given."""

from __future__ import annotations

from typing import TypeVar

from reactivex import Observable
from reactivex.abc import SchedulerBase
from reactivex.disposable import SingleAssignmentDisposable
from reactivex.scheduler import CurrentThreadScheduler
from reactivex.typing import OnCompleted, OnError, OnNext

from ..errors import StreamCancelled

__all__ = ["as_error", "attach"]

T = TypeVar("T")


def attach(
    slot: SingleAssignmentDisposable,
    source: Observable[T],
    on_next: OnNext[T],
    on_error: OnError,
    on_completed: OnCompleted,
    scheduler: SchedulerBase | None,
) -> None:
    """Subscribe to `source` and put the subscription into `slot`, which may be disposed from the very first item on.

    Work that the source does while it is being subscribed waits on the trampoline until the slot is filled. A source
    that was itself cancelled and says so by `on_error(CancelledError)` is heard as `StreamCancelled`.
    """

    def start(*_: object) -> None:
        slot.disposable = source.subscribe(
            on_next, lambda error: on_error(as_error(error)), on_completed, scheduler=scheduler
        )

    CurrentThreadScheduler.singleton().ensure_trampoline(start)


def as_error(error: BaseException) -> Exception:
    """Return what may travel through `on_error`: a CancelledError would, raised later, cancel whoever reads it."""
    if isinstance(error, Exception):
        return error
    cancelled = StreamCancelled("the stream was cancelled by someone other than its subscriber")
    cancelled.__cause__ = error
    return cancelled
