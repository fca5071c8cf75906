from __future__ import annotations

from datetime import UTC, datetime
from email.utils import format_datetime

import pytest

from agentscope_rx.errors import ModelError, ModelHTTPError, ModelStallError, ModelStreamError, ModelTruncatedError
from agentscope_rx.model import NO_RETRY, RetryPolicy
from agentscope_rx.model.retry import parse_retry_after

NOW = datetime(2026, 1, 1, 12, 0, 0, tzinfo=UTC)


def steady(**settings: float | bool) -> RetryPolicy:
    return RetryPolicy(random=lambda: 0.0, **settings)  # type: ignore[arg-type]


def refused(status: int | None, retry_after: float | None = None) -> ModelHTTPError:
    return ModelHTTPError("no", status=status, retry_after=retry_after)


@pytest.mark.parametrize(
    "error",
    [
        *(refused(status) for status in (None, 408, 429, 500, 502, 503, 529)),
        ModelTruncatedError("cut"),
        ModelStreamError("damaged", malformed=True),
        ModelStreamError("busy", kind="overloaded_error"),
        ModelStreamError("busy", kind="UNAVAILABLE", code=503),
        ModelStreamError("the upstream failed", code=502),
    ],
)
def test_what_may_pass_by_itself_is_tried_again(error: ModelError) -> None:
    assert steady().delay(error, attempt=1) == 0.5


@pytest.mark.parametrize(
    "error",
    [refused(s) for s in (301, 400, 401, 403, 404, 409, 422)]
    + [ModelStreamError("bad"), ModelStreamError("bad", kind="invalid_request_error", code=400)]
    + [ModelStallError("still", seconds=1), ModelError("other")],
)
def test_everything_else_is_final(error: ModelError) -> None:
    assert steady().delay(error, attempt=1) is None


def test_after_content_everything_is_final_unless_the_policy_says_otherwise() -> None:
    error = ModelTruncatedError("cut")
    assert steady().delay(error, 1, spoke=True) is None
    assert steady(after_content=True).delay(error, 1, spoke=True) == 0.5
    assert steady(after_content=True).delay(ModelStreamError("bad"), 1, spoke=True) is None


def test_silence_after_content_is_a_break_and_before_it_may_be_thought() -> None:
    error = ModelStallError("still", seconds=1)
    assert steady(after_content=True).delay(error, 1, spoke=True) == 0.5
    assert steady(after_content=True).delay(error, 1) is None


def test_the_wait_doubles_up_to_a_limit_until_the_attempts_are_used_up() -> None:
    policy = steady(max_attempts=6, base_delay=1.0, max_delay=5.0)
    assert [policy.delay(refused(500), attempt) for attempt in range(1, 7)] == [1.0, 2.0, 4.0, 5.0, 5.0, None]


def test_up_to_a_quarter_of_the_wait_is_left_to_chance() -> None:
    policy = RetryPolicy(base_delay=1.0, random=lambda: 1.0)
    assert policy.delay(refused(500), 1) == 0.75
    delays = {RetryPolicy(base_delay=1.0).delay(refused(500), 1) for _ in range(20)}
    assert len(delays) > 1
    assert all(delay is not None and 0.75 < delay <= 1.0 for delay in delays)


def test_the_server_may_ask_for_a_longer_wait_but_not_for_a_shorter_or_an_endless_one() -> None:
    policy = steady(max_retry_after=20.0)
    asked = (0.0, 0.1, 7.0, 20.0, 20.1)
    assert [policy.delay(refused(429, seconds), 1) for seconds in asked] == [0.5, 0.5, 7.0, 20.0, None]


def test_no_retry() -> None:
    assert NO_RETRY.delay(refused(500), 1) is None


@pytest.mark.parametrize(
    ("header", "seconds"),
    [
        (None, None),
        ("7", 7.0),
        ("0", 0.0),
        ("1.5", 1.5),
        ("-3", 0.0),
        (format_datetime(datetime(2026, 1, 1, 12, 0, 30, tzinfo=UTC), usegmt=True), 30.0),
        (format_datetime(datetime(2025, 1, 1, tzinfo=UTC), usegmt=True), 0.0),
        ("Thu, 01 Jan 2026 12:00:09 -0000", 9.0),
        ("Thu, 01 Jan 99999999999999999999 00:00:00 GMT", None),
        ("Thu, 01 Jan 2026 00:00:00 +99999999999999999999", None),
        ("Thu, 01 Jan 2026 00:00:00 -9999", None),
        ("soon", None),
        ("", None),
        ("inf", None),
        ("nan", None),
    ],
)
def test_retry_after_is_a_number_of_seconds_or_a_date(header: str | None, seconds: float | None) -> None:
    assert parse_retry_after(header, lambda: NOW) == seconds
